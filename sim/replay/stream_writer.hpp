// Writes timed steps down as operations: numbers collectives by channel and charges interference at
// the waits.
#pragma once

#include <vector>

#include "sim/replay/issue_stream.hpp"

namespace fourfold::inline sim::inline replay {

class StreamWriter {
 public:
  StreamWriter(const TimedProgram& program, const ProcessGrid& grid);

  void write(const TimedStep& step);
  // All since the last segment, with a mark at its end.
  void close(Segment segment);

  IssueStream stream;

 private:
  void post(const TimedStep& step);
  void wait(const TimedStep& step);
  void compute(double seconds);
  // How the step, one of the program's own, varies.
  void vary(const TimedStep& step);
  void emit(Operation::Kind kind, ChannelNumber channel, std::int32_t number);
  std::int32_t segment_number() const { return static_cast<std::int32_t>(stream.segments.size()); }

  const TimedProgram& program_;
  std::vector<bool> idle_;                                // by channel
  std::vector<std::int32_t> waited_;                      // by channel: for its oldest posts
  std::vector<std::vector<double>> compute_before_post_;  // by channel
  double compute_so_far_ = 0.0;
  double pending_compute_ = 0.0;
  StepVariation pending_variation_;
  double compute_in_segment_ = 0.0;
};

}  // namespace fourfold::inline sim::inline replay
