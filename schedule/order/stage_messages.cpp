// Follows every message of a pipeline's orders; see stage_messages.hpp.
#include "schedule/order/stage_messages.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "schedule/order/side_by_side.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline schedule::inline order {

namespace {

// What a stage of a pipeline sends or receives: a micro-batch on its way to or from a chunk,
// counted through all stages.
struct Message {
  bool forward = true;
  std::int64_t micro_batch = 0;
  std::int64_t from = 0, to = 0;  // chunks

  bool operator==(const Message&) const = default;
  auto operator<=>(const Message&) const = default;
};

std::string str(const Message& message, std::size_t stages) {
  const auto stage = [&](std::int64_t chunk) {
    return std::to_string(chunk % static_cast<std::int64_t>(stages));
  };
  return std::string(message.forward ? "micro-batch " : "the gradient of micro-batch ") +
         std::to_string(message.micro_batch) + " from stage " + stage(message.from) + " to stage " +
         stage(message.to);
}

// What the turns of all stages send each other.
class StageMessages {
 public:
  explicit StageMessages(const std::vector<Order>& stages) : stages_(stages) {
    for (const Order& order : stages) {
      for (const Turn& turn : order.turns) chunks_ = std::max(chunks_, turn.chunk + 1);
    }
    chunks_ *= count();
  }

  std::int64_t count() const { return static_cast<std::int64_t>(stages_.size()); }
  std::optional<Message> received(std::int64_t stage, const Turn& turn) const {
    const std::int64_t chunk = turn.chunk * count() + stage;
    if (turn.part == StepPart::forward) return message(turn, chunk - 1, chunk);
    return goes_back(turn) ? message(turn, chunk + 1, chunk) : std::nullopt;
  }
  std::optional<Message> sent(std::int64_t stage, const Turn& turn) const {
    const std::int64_t chunk = turn.chunk * count() + stage;
    if (turn.part == StepPart::forward) return message(turn, chunk, chunk + 1);
    return goes_back(turn) ? message(turn, chunk, chunk - 1) : std::nullopt;
  }

 private:
  static bool goes_back(const Turn& turn) {
    return turn.part == StepPart::backward || turn.part == StepPart::input_gradient;
  }
  std::optional<Message> message(const Turn& turn, std::int64_t from, std::int64_t to) const {
    if (std::min(from, to) < 0 || std::max(from, to) >= chunks_) return std::nullopt;
    return Message{turn.part == StepPart::forward, turn.micro_batch, from, to};
  }

  const std::vector<Order>& stages_;
  std::int64_t chunks_ = 0;  // of all stages
};

// A pair of stages has a channel in each direction, forward and backward: what one end sends as its
// k-th message, the other receives as its k-th.
std::string fault_of_channels(const std::vector<Order>& stages) {
  const StageMessages flow(stages);
  using Pair = std::tuple<bool, std::int64_t, std::int64_t>;
  std::map<Pair, std::vector<Message>> sent, received;
  const auto add = [&](auto& messages, const std::optional<Message>& message) {
    if (!message) return;
    const std::int64_t p = flow.count();
    messages[{message->forward, message->from % p, message->to % p}].push_back(*message);
  };
  for (std::int64_t stage = 0; stage < flow.count(); ++stage) {
    for (const Turn& turn : stages[static_cast<std::size_t>(stage)].turns) {
      add(sent, flow.sent(stage, turn));
      add(received, flow.received(stage, turn));
    }
  }
  for (const auto& [pair, messages] : received) sent[pair];
  for (const auto& [pair, messages] : sent) {
    const std::vector<Message>& there = received[pair];
    for (std::size_t k = 0; k < std::max(messages.size(), there.size()); ++k) {
      const bool both = k < messages.size() && k < there.size();
      if (both && messages[k] == there[k]) continue;
      const auto said = [&](const std::vector<Message>& of) {
        return k < of.size() ? str(of[k], stages.size()) : std::string("nothing");
      };
      return "order: message " + std::to_string(k) + " of a channel is sent as " + said(messages) +
             ", and received as " + said(there);
    }
  }
  return "";
}

// All stages, each as far as the messages that are there let it go.
std::string fault_of_waits(const std::vector<Order>& stages) {
  const StageMessages flow(stages);
  std::set<Message> there;
  std::vector<std::size_t> next(stages.size(), 0);
  const auto walk = [&](std::size_t i) {
    const auto stage = static_cast<std::int64_t>(i);
    for (; next[i] < stages[i].turns.size(); ++next[i]) {
      const Turn& turn = stages[i].turns[next[i]];
      const std::optional<Message> needed = flow.received(stage, turn);
      if (needed && !there.contains(*needed)) return false;
      if (const auto message = flow.sent(stage, turn)) there.insert(*message);
    }
    return true;
  };
  if (side_by_side(stages.size(), walk, [&](std::size_t i) { return next[i]; })) return "";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (next[i] == stages[i].turns.size()) continue;
    const auto needed = flow.received(static_cast<std::int64_t>(i), stages[i].turns[next[i]]);
    return "order: the stages wait for each other for ever, one of them for " +
           str(*needed, stages.size());
  }
  return "";
}

}  // namespace

std::string fault(const std::vector<Order>& stages, bool trains) {
  for (const Order& order : stages) {
    if (const std::string why = fault(order, trains); !why.empty()) return why;
  }
  if (const std::string why = fault_of_channels(stages); !why.empty()) return why;
  return fault_of_waits(stages);
}

}  // namespace fourfold::inline schedule::inline order
