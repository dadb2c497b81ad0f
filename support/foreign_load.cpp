// Counters of the operating system; see foreign_load.hpp.
#include "support/foreign_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace fourfold {
namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double seconds_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

}  // namespace

double machine_processor_seconds() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0.0, nice = 0.0, system = 0.0;
  if (!(file >> cpu >> user >> nice >> system) || cpu != "cpu") return 0.0;
  return (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_processor_seconds() {
  return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
}

ForeignLoad::ForeignLoad()
    : machine_(machine_processor_seconds()),
      own_(own_processor_seconds()),
      began_(wall_seconds()) {}

double ForeignLoad::cores(double ours) const {
  const double foreign = machine_processor_seconds() - machine_ - ours;
  return std::max(0.0, foreign) / std::max(wall_seconds() - began_, 1e-3);
}

}  // namespace fourfold
