// The stream of ranks that choose their turns alike, written as they choose: one stretch of it is
// known, the next one comes with the next choice.
#pragma once

#include <vector>

#include "schedule/order/ready_turns.hpp"
#include "sim/replay/stream_writer.hpp"

namespace fourfold {

class QueueStream {
 public:
  // Of a program with queues; writes what comes before the queue of `stage`.
  QueueStream(const TimedProgram& program, const ProcessGrid& grid, std::int64_t stage);

  const IssueStream& stream() const { return writer_.stream; }
  const ReadyTurns& turns() const { return turns_; }
  // The channel of the message that the next turn of a part begins with; -1: it needs none.
  ChannelNumber message_of(StepPart part) const {
    return part == StepPart::forward ? queue_.forward : queue_.backward;
  }

  // Writes the next turn of that part.
  void take(StepPart part);
  // At the end of what is written: where nothing is to choose, writes what comes next. False at the
  // end of all.
  bool go_on();
  // What was taken, in order.
  const std::vector<StepPart>& taken() const { return taken_; }

 private:
  void write_cycle(std::int32_t number);
  void write_run(std::int32_t number);

  const TimedProgram& program_;
  const TimedQueue& queue_;
  StageCycles cycles_;
  StreamWriter writer_;
  ReadyTurns turns_;
  bool ended_ = false;
  std::vector<StepPart> taken_;
};

}  // namespace fourfold
