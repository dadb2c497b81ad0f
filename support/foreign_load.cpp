// Counters of the operating system; see foreign_load.hpp.
#include "support/foreign_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "support/wall_clock.hpp"

namespace fourfold::inline support {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double seconds_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// Seconds of all cores since the machine started.
struct CoreSeconds {
  double busy = 0.0, stolen = 0.0;
};

CoreSeconds core_seconds() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0.0, nice = 0.0, system = 0.0, idle = 0.0, wait = 0.0, irq = 0.0, soft = 0.0;
  double steal = 0.0;
  file >> cpu >> user >> nice >> system;
  if (!file || cpu != "cpu") return {};
  if (!(file >> idle >> wait >> irq >> soft >> steal)) steal = 0.0;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {(user + nice + system) / ticks, steal / ticks};
}

}  // namespace

double machine_processor_seconds() {
  return core_seconds().busy;
}

double stolen_processor_seconds() {
  return core_seconds().stolen;
}

double own_processor_seconds() {
  return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
}

ForeignLoad::ForeignLoad()
    : machine_(machine_processor_seconds()),
      stolen_(stolen_processor_seconds()),
      own_(own_processor_seconds()),
      began_(wall_seconds()) {}

double ForeignLoad::cores(double ours) const {
  const double foreign = machine_processor_seconds() - machine_ - ours;
  return std::max(0.0, foreign) / std::max(wall_seconds() - began_, 1e-3);
}

double ForeignLoad::stolen_cores() const {
  return (stolen_processor_seconds() - stolen_) / std::max(wall_seconds() - began_, 1e-3);
}

}  // namespace fourfold::inline support
