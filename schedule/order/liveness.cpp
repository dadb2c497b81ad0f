// Finds last uses in issue order and writes lifetimes into the stream; see liveness.hpp.
#include "schedule/order/liveness.hpp"

#include <algorithm>

namespace fourfold::inline schedule::inline order {

bool may_run_in_place(const Op& op) {
  return (op.kind == OpKind::map && op.function->in_place) || op.kind == OpKind::add ||
         op.kind == OpKind::pack || op.kind == OpKind::unpack || op.kind == OpKind::view;
}

namespace {

class Lifetimes {
 public:
  explicit Lifetimes(Schedule& schedule)
      : schedule_(schedule),
        last_use_(schedule.program.values.size(), -1),
        gathered_by_(schedule.program.values.size(), nullptr) {
    for (const Op& op : schedule_.program.ops) {
      if (op.kind != OpKind::all_gather) continue;
      // What is gathered into what persists is that itself where nothing was cut.
      const bool into = schedule_.program[op.outputs[0]].persistent;
      for (Id id : into ? op.inputs : op.outputs) gathered_by_[static_cast<std::size_t>(id)] = &op;
    }
    const auto count = static_cast<std::int32_t>(schedule_.stream.size());
    for (std::int32_t i = 0; i < count; ++i) {
      const Issue& step = schedule_.stream[static_cast<std::size_t>(i)];
      const Op& op = op_of(step);
      // A collective reads until its wait; everything else when it is issued. A result nobody
      // reads dies where it is made.
      if (step.kind == IssueKind::start) continue;
      for (Id input : op.inputs) last_use(input) = i;
      for (Id output : op.outputs) last_use(output) = i;
    }
    for (Id id : schedule_.program.kept) last_use(id) = count;
  }

  void insert() {
    std::vector<Issue> old = std::move(schedule_.stream);
    schedule_.stream.clear();
    std::size_t section = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      while (section < schedule_.sections.size() &&
             schedule_.sections[section].first == static_cast<std::int32_t>(i)) {
        schedule_.sections[section++].first = static_cast<std::int32_t>(schedule_.stream.size());
      }
      now_ = static_cast<std::int32_t>(i);
      const Issue& step = old[i];
      const Op& op = op_of(step);
      switch (step.kind) {
        case IssueKind::compute:
        case IssueKind::choose:
          compute(step, op);
          break;
        case IssueKind::start:
          start(step, op);
          break;
        default:
          wait(step, op);
      }
    }
  }

 private:
  const Op& op_of(const Issue& step) const {
    return schedule_.program.ops[static_cast<std::size_t>(step.id)];
  }
  std::int32_t& last_use(Id id) { return last_use_[static_cast<std::size_t>(id)]; }
  bool persistent(Id id) const { return schedule_.program[id].persistent; }

  void event(IssueKind kind, Id id, Existence existence, Axis axis) {
    if (!persistent(id)) schedule_.stream.push_back({kind, id, 0, existence, axis});
  }
  void allocate(Id id) { event(IssueKind::allocate, id, existence_of(id), axis_of(id)); }

  // What is gathered is its own piece where nothing was cut.
  const Op* gathered_by(Id id) const { return gathered_by_[static_cast<std::size_t>(id)]; }
  Existence existence_of(Id id) const {
    const Op* gather = gathered_by(id);
    return gather == nullptr || takes_over(*gather) ? Existence::always : Existence::if_cut;
  }
  // A gather of what does not persist takes over its piece where nothing was cut.
  bool takes_over(const Op& op) const {
    return op.kind == OpKind::all_gather && !persistent(op.inputs[0]) && !persistent(op.outputs[0]);
  }
  Axis axis_of(Id id) const { return gathered_by(id) != nullptr ? gathered_by(id)->axis : Axis::z; }

  void release_dead_inputs(const Op& op) {
    std::vector<Id> seen;
    for (Id input : op.inputs) {
      if (last_use(input) != now_ || std::count(seen.begin(), seen.end(), input) != 0) continue;
      event(IssueKind::release, input, existence_of(input), axis_of(input));
      seen.push_back(input);
    }
  }
  void release_unread(const Op& op) {
    for (Id output : op.outputs) {
      if (last_use(output) == now_) {
        event(IssueKind::release, output, existence_of(output), axis_of(output));
      }
    }
  }
  void allocate_outputs(const Op& op) {
    for (Id output : op.outputs) allocate(output);
  }
  void allocate_outputs(const Op& op, Existence existence) {
    for (Id output : op.outputs) event(IssueKind::allocate, output, existence, op.axis);
  }

  void compute(const Issue& step, const Op& op) {
    if (op.kind == OpKind::cut) return cut(step, op);
    if (may_run_in_place(op)) {
      schedule_.stream.push_back(step);
      release_dead_inputs(op);
      allocate_outputs(op);
    } else {
      allocate_outputs(op);
      schedule_.stream.push_back(step);
      release_dead_inputs(op);
    }
    release_unread(op);
  }

  // A piece is the whole where nothing is cut.
  void cut(const Issue& step, const Op& op) {
    event(IssueKind::allocate, op.outputs[0], Existence::if_cut, op.axis);
    schedule_.stream.push_back(step);
    release_dead_inputs(op);
    event(IssueKind::allocate, op.outputs[0], Existence::if_uncut, op.axis);
    release_unread(op);
  }

  // What works in place has an operand that dies with it; its result takes over at the wait.
  void start(const Issue& step, const Op& op) {
    if (op.kind == OpKind::receive) allocate_outputs(op);
    if (is_collective(op.kind) && !works_in_place(op.kind)) {
      allocate_outputs(op, Existence::if_cut);
    }
    schedule_.stream.push_back(step);
  }

  void wait(const Issue& step, const Op& op) {
    schedule_.stream.push_back(step);
    release_dead_inputs(op);
    const bool gathers = op.kind == OpKind::all_gather;
    if (is_collective(op.kind) && !works_in_place(op.kind) && (!gathers || takes_over(op))) {
      allocate_outputs(op, Existence::if_uncut);
    }
    if (works_in_place(op.kind)) allocate_outputs(op);
    release_unread(op);
  }

  Schedule& schedule_;
  std::vector<std::int32_t> last_use_;
  std::vector<const Op*> gathered_by_;  // by value; null where no gather made it
  std::int32_t now_ = 0;
};

}  // namespace

void insert_lifetimes(Schedule& schedule) {
  Lifetimes(schedule).insert();
}

}  // namespace fourfold::inline schedule::inline order
