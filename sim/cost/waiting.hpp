// What devices wait for each other. Kernels take longer on one device than on another, and now than
// next time; a collective ends when the last of its members has come. The slowest device of the job
// is the one that is walked; what repetitions add is put into the waits, as an expectation.
#pragma once

#include <array>
#include <vector>

#include "schedule/program/process_grid.hpp"
#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline cost {

// Walks the devices of a stage as one, and keeps how far apart their clocks are: the variance that
// devices have in common along some axes, for each set of axes. Compute adds to what is a device's
// own. At a wait that holds the stream, of n members along an axis whose clocks are sigma apart,
// the last one comes expected_largest(n) x sigma later than the mean, in squares with the lead that
// the slowest device has over it anyway; from then on they have one clock, of which
// variance_of_largest(n) of the variance is left between groups. So waiting passes on from x to y,
// z and data. A wait for what is done already sets no clock: what hides, waits for nobody.
class WaitingWalk {
 public:
  // Both must outlive it. Messages between stages add nothing: there the bubble is.
  WaitingWalk(TimedProgram& program, const ProcessGrid& grid);

  // All cycles of the program, in their order.
  void whole();
  // A body by itself, as one of many repetitions.
  void body(const StepRun& run);

 private:
  // By set of those of x, y, z and data that some channel runs along: what devices have in common
  // there. An axis of the second factoring stands for all of those that its lines run along.
  using BySet = std::array<double, 16>;
  struct Apart {
    BySet variance{};
    BySet lead{};  // of the slowest device over the median one, seconds
  };

  struct Post {
    double finish = 0.0;
    double spare = 0.0;  // that it waited for its channel anyway
    Apart apart;
  };
  struct OfChannel {
    std::int64_t members = 1;
    double expected = 0.0, left = 1.0;  // of the largest of so many values, and of its variance
    std::size_t along = 0;              // the axes that its lines run along
    double free = 0.0;
    std::vector<Post> posts;  // the latest, as many as a wait may look back to
    std::size_t posted = 0;
  };

  void start();
  void walk(const StepRun& run);
  // Twice, and on as the second time went.
  template <typename Once>
  void repeat(std::int64_t repeats, const Once& once);
  void post(const TimedStep& step);
  void wait(TimedStep& step);

  TimedProgram& program_;
  std::vector<OfChannel> channels_;
  std::size_t sets_ = 1;  // of BySet that may hold anything
  Apart apart_;
  double clock_ = 0.0;
};

// As each device walks it that draws what it takes: on the median device, without expectations.
TimedProgram without_expectations(TimedProgram program);

ExpectedWaiting expected_waiting(const TimedProgram& program);

}  // namespace fourfold::inline sim::inline cost
