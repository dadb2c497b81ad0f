// Which turns a stage may do next in a ready-queue: the rule that every rung shares, whatever it
// knows of the messages that have arrived.
#pragma once

#include <cstdint>

#include "schedule/program/turn.hpp"

namespace fourfold::inline schedule::inline order {

class ReadyTurns {
 public:
  ReadyTurns() = default;
  ReadyTurns(std::int64_t limit, std::int64_t micro_batches, const Stage& stage)
      : limit_(limit), micro_batches_(micro_batches), stage_(stage) {}

  bool over() const { return backwards_ == micro_batches_; }
  // The last stage's backwards wait for nobody, so that no forward comes before them.
  bool may_go_forward() const {
    return forwards_ < micro_batches_ && forwards_ - backwards_ < limit_ &&
           !(stage_.last() && may_go_backward());
  }
  bool may_go_backward() const { return backwards_ < forwards_; }
  // Only then do messages decide.
  bool open() const { return may_go_forward() && may_go_backward(); }
  // The one that may come, where no other may.
  StepPart only() const { return may_go_forward() ? StepPart::forward : StepPart::backward; }
  // The message that a forward waits for: none on the first stage.
  bool forwards_arrive() const { return !stage_.first(); }

  // The micro-batch of the next forward, and that of the next backward.
  std::int64_t forwards() const { return forwards_; }
  std::int64_t backwards() const { return backwards_; }
  void take(StepPart part) { ++(part == StepPart::forward ? forwards_ : backwards_); }

 private:
  std::int64_t limit_ = 1;
  std::int64_t micro_batches_ = 0;
  Stage stage_;
  std::int64_t forwards_ = 0;   // done
  std::int64_t backwards_ = 0;  // done
};

}  // namespace fourfold::inline schedule::inline order
