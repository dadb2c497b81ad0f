// Turns a program into its issue order; long because every rule moves one stream. The rules stand
// in issue.hpp.
#include "schedule/order/issue.hpp"

#include <algorithm>
#include <deque>

#include "schedule/order/liveness.hpp"

namespace fourfold::inline schedule::inline order {

namespace {

class Issuer {
 public:
  Issuer(const Program& program, const StepOptions& options)
      : program_(program),
        options_(options),
        arrival_(program.values.size(), arrived),
        post_number_(program.ops.size(), 0),
        posts_(program.channels.size(), 0),
        messages_(program.channels.size()),
        deferral_of_(program.ops.size(), none) {
    std::size_t section = 0;
    for (std::int32_t i = 0; i < op_count(); ++i) {
      const Op& op = op_at(i);
      while (section < program_.sections.size() && program_.sections[section].first_op <= i) {
        ++section;
      }
      if (prefetched(op)) {
        gathers_.push_back(i);
        gather_sections_.push_back(section);
      }
      if (op.kind == OpKind::receive) messages_of(op).to_receive.push_back(i);
      if (op.kind == OpKind::send) ++messages_of(op).to_send;
    }
  }

  std::vector<Issue> stream;
  std::vector<IssueSection> sections;
  std::vector<std::vector<InFlight>> at_period;

  void run() {
    std::size_t next_section = 0;
    for (std::int32_t i = 0; i < op_count(); ++i) {
      while (next_section < program_.sections.size() &&
             program_.sections[next_section].first_op == i) {
        begin_turn(program_.sections[next_section].turn, next_section);
        note_period(program_.sections[next_section].turn, i);
        section_ = static_cast<std::int32_t>(next_section++);
        sections.push_back({section_, static_cast<std::int32_t>(stream.size())});
      }
      visit(i);
    }
    // A step ends with nothing in flight, even if nobody reads the result.
    for (Messages& messages : messages_) await_send(messages);
    for (std::size_t id = 0; id < arrival_.size(); ++id) await(static_cast<Id>(id));
  }

 private:
  static constexpr std::int32_t arrived = -1;
  static constexpr std::int64_t none = -1;

  // A reduce-scatter in flight and the book-keeping that waits with it.
  struct Deferral {
    std::int32_t op;
    std::int32_t section;
    std::vector<std::int32_t> after;
  };

  // Of a channel that carries messages: one way only.
  struct Messages {
    std::vector<std::int32_t> to_receive;  // in program order
    std::size_t received = 0;              // of them, started
    std::int64_t to_send = 0;              // that have not started
    std::int32_t sending = arrived;        // the send that nobody has waited for
  };

  bool queued() const { return program_.order.ready.limit > 0; }

  void begin_turn(std::int64_t turn, std::size_t section) {
    if (!queued() || turn == turn_) return;
    end_turn();
    turn_ = turn;
    turn_ended_ = false;
    turn_first_ = program_.sections[section].first_op;
    while (section < program_.sections.size() && program_.sections[section].turn == turn) ++section;
    turn_last_ =
        section < program_.sections.size() ? program_.sections[section].first_op : op_count();
  }

  // Of a turn of a ready-queue, and of the one before them. Behind the last of the queue nothing
  // else can come: what it has started may cross.
  void end_turn() {
    const ReadyQueue& ready = program_.order.ready;
    if (turn_ended_) return;
    turn_ended_ = true;
    if (turn_ + 1 == ready.first) {
      for (std::int64_t ahead = 0; ahead < ready.limit; ++ahead) receive_next();
    }
    if (!ready.holds(turn_)) return;
    if (turn_ + 1 == ready.first + ready.turns) {
      for (Messages& messages : messages_) await_send(messages);
      return;
    }
    while (!deferrals_.empty()) retire_oldest();
    for (std::int32_t i = turn_first_; i < turn_last_; ++i) {
      if (is_message(op_at(i).kind)) continue;
      for (Id output : op_at(i).outputs) await(output);
    }
    const Turn& turn = program_.order.turns[static_cast<std::size_t>(turn_)];
    if (turn.part == StepPart::backward) receive_next();
  }

  void receive_next() {
    for (Messages& messages : messages_) start_receive(messages);
  }

  // Where a period begins, and where a steady stretch ends.
  void note_period(std::int64_t turn, std::int32_t op) {
    const Order::Period period = program_.order.period_of(turn);
    if (period == period_) return;
    const InFlight now = in_flight(op);
    for (const std::int64_t stretch : {period_.stretch, period.stretch}) {
      if (stretch == none) continue;
      at_period.resize(std::max(at_period.size(), static_cast<std::size_t>(stretch + 1)));
      at_period[static_cast<std::size_t>(stretch)].push_back(now);
      if (period_.stretch == period.stretch) break;
    }
    period_ = period;
  }

  InFlight in_flight(std::int32_t now) const {
    InFlight distances;
    if (queued()) return distances;  // messages alone, whose number the queue's limit says
    for (std::size_t id = 0; id < arrival_.size(); ++id) {
      if (arrival_[id] != arrived) distances.push_back(arrival_[id] - now);
    }
    for (const Messages& messages : messages_) {
      if (messages.sending != arrived) distances.push_back(messages.sending - now);
    }
    for (const Deferral& d : deferrals_) {
      distances.push_back(d.op - now);
      for (std::int32_t after : d.after) distances.push_back(after - now);
    }
    return distances;
  }

  std::int32_t op_count() const { return static_cast<std::int32_t>(program_.ops.size()); }
  const Op& op_at(std::int32_t i) const { return program_.ops[static_cast<std::size_t>(i)]; }
  Messages& messages_of(const Op& op) { return messages_[static_cast<std::size_t>(op.channel)]; }
  std::int32_t& arrival(Id id) { return arrival_[static_cast<std::size_t>(id)]; }

  bool hides(const Op& op) const {
    switch (op.hiding) {
      case Hiding::all_reduce:
        return options_.overlap.all_reduce;
      case Hiding::reduce_scatter:
        return options_.overlap.reduce_scatter;
      case Hiding::all_gather:
        return options_.overlap.all_gather;
      case Hiding::recompute_gather:
        return options_.overlap.all_gather && options_.overlap.recompute_gather;
      case Hiding::data_reduce:
        return true;
      case Hiding::message:
        return options_.overlap.messages;
      case Hiding::never:
        break;
    }
    return false;
  }

  // Gathers of weights before a product are; others start when their operand is there.
  bool prefetched(const Op& op) const {
    const bool of_weight = op.hiding == Hiding::all_gather || op.hiding == Hiding::recompute_gather;
    return op.kind == OpKind::all_gather && of_weight && hides(op);
  }

  void visit(std::int32_t i) {
    const Op& op = op_at(i);
    if (next_gather_ < gathers_.size() && gathers_[next_gather_] == i) start_gather();
    if (prefetched(op)) return;  // started here or before
    if (op.kind == OpKind::receive) return receive(op);
    if (op.kind == OpKind::choose) return choose(i);
    if (op.deferrable && put_off(i)) return;
    if (comes_later(i)) return;
    for (Id input : op.inputs) await(input);
    if (op.kind == OpKind::send) return send(i);
    emit(i);
    if (op.hiding == Hiding::reduce_scatter && hides(op)) limit_window();
  }

  void emit(std::int32_t i) {
    const Op& op = op_at(i);
    if (!is_collective(op.kind)) {
      stream.push_back({IssueKind::compute, i, 0, {}, {}});
      return;
    }
    start(i);
    if (!hides(op)) {
      wait(i);
    } else if (op.hiding == Hiding::reduce_scatter) {
      if (deferrals_.empty() || deferrals_.back().section != section_) ++blocks_put_off_;
      deferral_of_[static_cast<std::size_t>(i)] = first_deferral_ + deferral_count();
      deferrals_.push_back({i, section_, {}});
    }
  }

  void choose(std::int32_t i) {
    end_turn();
    stream.push_back({IssueKind::choose, i, 0, {}, {}});
  }

  // The first receive of a channel is posted where it stands, later ones when the one before has
  // arrived; without overlap all where they stand.
  void receive(const Op& op) {
    if (queued()) return;
    Messages& messages = messages_of(op);
    if (messages.received == 0 || !hides(op)) start_receive(messages);
    if (!hides(op)) await(op.outputs[0]);
  }

  void start_receive(Messages& messages) {
    if (messages.received == messages.to_receive.size()) return;
    start(messages.to_receive[messages.received++]);
  }

  // A channel has one send under way at a time, which holds its buffer until it is done.
  void send(std::int32_t i) {
    Messages& messages = messages_of(op_at(i));
    await_send(messages);
    start(i);
    messages.sending = i;
    --messages.to_send;
  }

  void await_send(Messages& messages) {
    if (messages.sending == arrived) return;
    wait(messages.sending);
    messages.sending = arrived;
  }

  void start(std::int32_t i) {
    const Op& op = op_at(i);
    stream.push_back({IssueKind::start, i, 0, {}, {}});
    post_number_[static_cast<std::size_t>(i)] = ++posts_[static_cast<std::size_t>(op.channel)];
    for (Id output : op.outputs) arrival(output) = i;
  }

  void wait(std::int32_t i) {
    const Op& op = op_at(i);
    const std::int32_t back =
        posts_[static_cast<std::size_t>(op.channel)] - post_number_[static_cast<std::size_t>(i)];
    const bool ahead = queued() && op.kind == OpKind::receive;
    stream.push_back({IssueKind::wait, i, ahead ? oldest_post : back, {}, {}});
    for (Id output : op.outputs) arrival(output) = arrived;
  }

  // Whether gather `number` is the first of a recomputed block, and must not start before it.
  bool opens_block(std::size_t number) const {
    const bool recomputes = op_at(gathers_[number]).hiding == Hiding::recompute_gather;
    if (options_.overlap.across_blocks || !recomputes) return false;
    return number == 0 || gather_sections_[number - 1] != gather_sections_[number];
  }

  void start_gather() {
    const std::int32_t i = gathers_[next_gather_++];
    start(i);
  }

  // A view of what is still under way holds nobody up: it comes when it is needed.
  bool comes_later(std::int32_t i) {
    const Op& op = op_at(i);
    const auto under_way = [this](Id id) { return arrival(id) != arrived; };
    if (op.kind != OpKind::pack || !op.deferrable) return false;
    if (std::ranges::none_of(op.inputs, under_way)) return false;
    arrival(op.outputs[0]) = i;
    return true;
  }

  // Makes sure that a value is there before the stream goes on.
  void await(Id id) {
    const std::int32_t producer = arrival(id);
    if (producer == arrived) return;
    const Op& op = op_at(producer);
    if (op.kind == OpKind::pack && !deferrals_pending(producer)) {
      for (Id input : op.inputs) await(input);
      arrival(id) = arrived;
      return emit(producer);
    }
    if (deferrals_pending(producer)) {
      retire_through(producer);
      await(id);  // what was put off may itself have started a collective
      return;
    }
    wait(producer);
    if (op.kind == OpKind::receive && !queued()) {
      if (hides(op)) start_receive(messages_of(op));
      for (Messages& messages : messages_) {
        if (messages.to_send == 0) await_send(messages);
      }
    }
    // The prefetch: the next gather runs beside the product that is about to use this one.
    if (prefetched(op) && next_gather_ < gathers_.size() && gathers_[next_gather_] > producer &&
        (!queued() || gathers_[next_gather_] < turn_last_) && !opens_block(next_gather_)) {
      start_gather();
    }
  }

  std::int64_t deferral_count() const { return static_cast<std::int64_t>(deferrals_.size()); }
  // The deferral, by number, that an operation is or waits with; none where it has been retired.
  std::int64_t deferral_of(std::int32_t op) const {
    const std::int64_t number = deferral_of_[static_cast<std::size_t>(op)];
    return number < first_deferral_ ? none : number;
  }

  bool deferrals_pending(std::int32_t producer) const { return deferral_of(producer) != none; }

  // Attaches book-keeping to the youngest reduce-scatter it depends on.
  bool put_off(std::int32_t i) {
    std::int64_t youngest = none;
    for (Id input : op_at(i).inputs) {
      const std::int32_t producer = arrival(input);
      if (producer != arrived) youngest = std::max(youngest, deferral_of(producer));
    }
    if (youngest == none) return false;
    deferrals_[static_cast<std::size_t>(youngest - first_deferral_)].after.push_back(i);
    deferral_of_[static_cast<std::size_t>(i)] = youngest;
    for (Id output : op_at(i).outputs) arrival(output) = i;
    return true;
  }

  void retire_oldest() {
    const Deferral oldest = std::move(deferrals_.front());
    deferrals_.pop_front();
    ++first_deferral_;
    if (deferrals_.empty() || deferrals_.front().section != oldest.section) --blocks_put_off_;
    wait(oldest.op);
    for (std::int32_t i : oldest.after) {
      for (Id output : op_at(i).outputs) arrival(output) = arrived;
      if (comes_later(i)) continue;
      for (Id input : op_at(i).inputs) await(input);
      emit(i);
    }
  }

  void retire_through(std::int32_t producer) {
    while (deferrals_pending(producer)) retire_oldest();
  }

  void limit_window() {
    while (blocks_put_off_ > options_.in_flight_blocks) retire_oldest();
  }

  const Program& program_;
  StepOptions options_;
  std::vector<std::int32_t> arrival_;  // by value: the pending operation that gives it, or arrived
  std::vector<std::int32_t> gathers_;  // prefetched gathers in program order
  std::vector<std::size_t> gather_sections_;
  std::size_t next_gather_ = 0;
  std::vector<std::int32_t> post_number_;
  std::vector<std::int32_t> posts_;  // by channel
  std::vector<Messages> messages_;   // by channel
  std::deque<Deferral> deferrals_;
  std::int64_t first_deferral_ = 0;        // number of the oldest that is pending
  std::vector<std::int64_t> deferral_of_;  // by operation: the number of its deferral
  std::int64_t blocks_put_off_ = 0;        // sections that deferrals come from
  Order::Period period_;
  std::int32_t section_ = -1;
  // Of an order with a ready-queue: the turn, and its operations.
  std::int64_t turn_ = -1;
  bool turn_ended_ = true;
  std::int32_t turn_first_ = 0, turn_last_ = 0;
};

}  // namespace

Schedule issue(Program program, const StepOptions& options) {
  Issuer issuer(program, options);
  issuer.run();
  Schedule schedule{std::move(program), std::move(issuer.stream), std::move(issuer.sections),
                    std::move(issuer.at_period)};
  insert_lifetimes(schedule);
  return schedule;
}

CutStream cut_at_turns(const Schedule& schedule) {
  const Program& program = schedule.program;
  CutStream cut;
  for (std::size_t i = 0; i < schedule.sections.size(); ++i) {
    const auto first = static_cast<std::size_t>(schedule.sections[i].first);
    const std::size_t last = schedule.end_of(i);
    const std::int64_t number = schedule.turn_of(i);
    const Turn& turn = program.order.turns[static_cast<std::size_t>(number)];
    CutStream::Stretch* stretch = &cut.before;
    if (program.order.ready.holds(number)) {
      auto& turns = turn.part == StepPart::forward ? cut.forwards : cut.backwards;
      if (std::ssize(turns) == turn.micro_batch) turns.emplace_back();
      stretch = &turns.back();
    } else if (program.order.ready.limit > 0 && number > program.order.ready.first) {
      stretch = &cut.behind;
    }
    if (stretch->last == 0) stretch->first = first;
    stretch->last = last;
    for (std::size_t s = first; s < last; ++s) {
      const Issue& issue = schedule.stream[s];
      const bool waits = issue.kind == IssueKind::wait;
      if (waits && program.ops[static_cast<std::size_t>(issue.id)].kind == OpKind::receive) {
        stretch->receive = issue.id;
      }
    }
  }
  return cut;
}

}  // namespace fourfold::inline schedule::inline order
