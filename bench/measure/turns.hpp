// Timing: several pieces of work take turns under Google Benchmark, so that all of them meet the
// same machine. Nothing is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/measure/sample.hpp"

namespace fourfold::inline bench::inline measure {

// Does one piece of work and returns the seconds that count.
using Take = std::function<double()>;

// Whether other processes may run on this core during a round.
enum class Company : std::uint8_t {
  any,
  held_off,  // all ranks begin a round together behind a Shield, and pause after it
};

struct Turns {
  std::int64_t rounds = 20;
  std::int64_t warm_ups = 1;  // rounds before, which do not count
  Company company = Company::any;
};

// In each round each take once, in order; seconds by take. The number of rounds is fixed
// beforehand, so that the ranks of a job do as many. With others held off, collective over
// MPI_COMM_WORLD.
std::vector<Sample> take_turns(const std::vector<Take>& takes, const Turns& turns);

// Seconds of the monotonic clock, for work that waits, and of this thread's own CPU time, for work
// that computes in this thread: what else runs on the machine meanwhile must not count.
double wall_seconds(const std::function<void()>& work);
double cpu_seconds(const std::function<void()>& work);

// Google Benchmark as it is linked here.
struct TimingLibrary {
  bool debug = false;         // built with its assertions (Debian's is)
  double turn_seconds = 0.0;  // that a turn of its loop takes with no work: not in any sample
};
TimingLibrary timing_library();

}  // namespace fourfold::inline bench::inline measure
