// The stream of ranks that choose their turns alike, written as they choose: one stretch of it is
// known, the next one comes with the next choice.
#pragma once

#include <vector>

#include "schedule/order/ready_turns.hpp"
#include "sim/replay/stream_writer.hpp"

namespace fourfold::inline sim::inline replay {

class QueueStream {
 public:
  // Of a program with queues, by pace; writes what comes before the queue of `stage`.
  QueueStream(const std::vector<TimedProgram>& paces, const ProcessGrid& grid, std::int64_t stage);

  const IssueStream& stream(std::size_t pace = 0) const { return writers_[pace].stream; }
  const ReadyTurns& turns() const { return turns_; }
  ChannelNumber message_of(StepPart part) const { return queue_.message_of(part); }
  // The micro-batch of the next turn of a part.
  std::int64_t next(StepPart part) const {
    return part == StepPart::forward ? turns_.forwards() : turns_.backwards();
  }

  // Writes the next turn of that part.
  void take(StepPart part);
  // At the end of what is written: where nothing is to choose, writes what comes next. False at the
  // end of all.
  bool go_on();
  // What was taken, in order.
  const std::vector<StepPart>& taken() const { return taken_; }

 private:
  void write(const RunCycle& cycle);

  const std::vector<TimedProgram>& paces_;
  const TimedQueue& queue_;
  StageCycles cycles_;
  std::vector<StreamWriter> writers_;  // by pace
  ReadyTurns turns_;
  bool ended_ = false;
  std::vector<StepPart> taken_;
};

}  // namespace fourfold::inline sim::inline replay
