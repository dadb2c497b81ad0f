// One collective of one size over the groups of an axis, all groups at the same time: timed as
// nccl-tests do, and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/communicator.hpp"

namespace fourfold::inline bench::inline measure {

class CollectiveRun {
 public:
  // `bytes` of the whole buffer in fp32, rounded up to whole pieces. The communicator must outlive
  // this.
  CollectiveRun(Communicator& group, CollectiveKind kind, std::int64_t bytes);

  // As nccl-tests count: of the whole buffer of one group, and the same times what part_sent()
  // says.
  double bytes() const { return 4.0 * static_cast<double>(elements_); }
  double bus_bytes() const;

  // Lets a channel of transport auto choose.
  void prepare() { group_.prepare({call_}); }
  // Seconds of one collective, from a barrier of all ranks to the end of the slowest. Collective
  // over MPI_COMM_WORLD, as are all that follow.
  double seconds();
  // The same with so many seconds of CPU work between start and wait, which asks for progress now
  // and then: what OSU's non-blocking benchmarks call overall time.
  double seconds_beside(double work_s);
  // One collective on numbers that tell ranks and places apart; whether all ranks hold what they
  // must.
  bool right();

 private:
  void run() { group_.finish(group_.start(call_)); }
  void fill();
  // What must stand at place i of the result.
  float expected(std::int64_t i) const;

  Communicator& group_;
  CollectiveKind kind_;
  std::int64_t elements_ = 0;
  std::vector<float> from_, to_;
  CollectiveCall call_;
};

// OSU's overlap in percent: how much of a collective's own time the work beside it hides, from 0
// to 100.
double overlap_percent(double alone_s, double work_s, double overall_s);

}  // namespace fourfold::inline bench::inline measure
