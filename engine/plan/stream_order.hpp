// Which steps of a stream always come before which others: all of them in their order, but for the
// turns of a ready-queue.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/order/issue.hpp"

namespace fourfold::inline engine::inline plan {

// Of a queue that lets L micro-batches in flight: a forward comes before the forwards of later
// micro-batches and before the backwards of its own and later ones; a backward before later
// backwards, and before the forwards from L micro-batches later on. Everything else may come in any
// sequence.
class StreamOrder {
 public:
  StreamOrder() = default;  // as the stream stands
  explicit StreamOrder(const Schedule& schedule) : ready_(schedule.program.order.ready) {
    // The last stage has nothing to choose.
    if (schedule.program.stage.last()) ready_ = {};
    if (ready_.limit == 0) return;
    turns_ = schedule.program.order.turns;
    turn_of_.resize(schedule.stream.size() + 1, std::ssize(turns_) - 1);
    for (std::size_t i = 0; i < schedule.sections.size(); ++i) {
      const auto first = static_cast<std::size_t>(schedule.sections[i].first);
      for (std::size_t s = first; s < schedule.end_of(i); ++s) turn_of_[s] = schedule.turn_of(i);
    }
  }

  bool before(std::int32_t step, std::int32_t other) const {
    if (ready_.limit == 0) return step < other;
    const std::int64_t number = turn_of_[static_cast<std::size_t>(step)];
    const std::int64_t others = turn_of_[static_cast<std::size_t>(other)];
    if (number == others || !ready_.holds(number) || !ready_.holds(others)) return step < other;
    const Turn& turn = turns_[static_cast<std::size_t>(number)];
    const Turn& later = turns_[static_cast<std::size_t>(others)];
    if (turn.part == later.part) return turn.micro_batch < later.micro_batch;
    if (turn.part == StepPart::forward) return turn.micro_batch <= later.micro_batch;
    return turn.micro_batch + ready_.limit <= later.micro_batch;
  }

 private:
  ReadyQueue ready_;
  std::vector<Turn> turns_;
  std::vector<std::int64_t> turn_of_;  // by step, and behind the last one
};

}  // namespace fourfold::inline engine::inline plan
