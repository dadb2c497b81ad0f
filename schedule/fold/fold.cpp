// Finds the equal stretches of a schedule; see fold.hpp.
#include "schedule/fold/fold.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "schedule/fold/key_numbers.hpp"
#include "schedule/fold/product_sum.hpp"
#include "schedule/models/gpt.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline schedule::inline fold {

namespace {

using Index = KeyNumbers<std::int32_t>;
using Key = Index::Key;

// Whether the last period of each steady stretch leaves in flight what it found.
bool settled(const Schedule& schedule) {
  if (schedule.at_period.size() != schedule.program.order.steady.size()) return false;
  return std::ranges::all_of(schedule.at_period, [](const std::vector<InFlight>& at) {
    return at.size() >= 2 && at[at.size() - 1] == at[at.size() - 2];
  });
}

// Makes cycles of what turns are folded to.
class Cycles {
 public:
  explicit Cycles(const Order& order) : order_(order) {}

  void add(std::size_t turn, std::int32_t body) {
    const Order::Period period = order_.period_of(static_cast<std::int64_t>(turn));
    const Turn& now = order_.turns[turn];
    const bool goes_on =
        period == open_.period && (period.stretch != -1 || now.micro_batch == open_.micro_batch);
    if (!goes_on) {
      close();
      open_.micro_batch = now.micro_batch;
      open_.period = period;
    }
    const StepPart part = order_.ready.limit > 0 ? now.part : StepPart::start;
    if (!open_.runs.empty() && open_.runs.back().body == body && open_.runs.back().part == part) {
      ++open_.runs.back().repeats;
    } else {
      open_.runs.push_back({body, 1, part});
    }
  }

  std::vector<BodyCycle> all() && {
    close();
    return std::move(cycles_);
  }

 private:
  void close() {
    if (open_.runs.empty()) return;
    const bool again =
        !cycles_.empty() && open_.micro_batch > 0 && cycles_.back().runs == open_.runs;
    // Where two stretches meet they stay apart.
    const bool joins = again && (cycles_.back().period.stretch == open_.period.stretch ||
                                 cycles_.back().period.stretch == -1 || open_.period.stretch == -1);
    if (joins) {
      ++cycles_.back().repeats;
      if (open_.period.stretch != -1) cycles_.back().period = open_.period;
    } else {
      cycles_.push_back(open_);
    }
    open_ = {};
  }

  const Order& order_;
  std::vector<BodyCycle> cycles_;
  BodyCycle open_;
};

class Folder {
 public:
  explicit Folder(const Schedule& schedule)
      : s_(schedule),
        p_(schedule.program),
        posts_(p_.channels.size(), 0),
        waited_(p_.channels.size(), 0) {
    value_shape_.reserve(p_.values.size());
    value_size_.reserve(p_.values.size());
    for (std::size_t id = 0; id < p_.values.size(); ++id) {
      value_shape_.push_back(shape(p_.values[id].shape));
      value_size_.push_back(size(static_cast<Id>(id)));
    }
  }

  FoldedTurns run() {
    turns_.resize(p_.order.turns.size());
    for (std::size_t id = 0; id < p_.values.size(); ++id) {
      const Value& v = p_.values[id];
      folded_.copies_to_host |= v.on_host && !v.persistent;
      if (!v.persistent) continue;
      std::vector<BufferEvent>& there = v.on_host ? folded_.on_host : folded_.persistent;
      add_persistent(there, {value_size_[id], 1, v.role, Existence::always, Axis::z, v.on_host});
    }
    for (std::size_t i = 0; i < s_.sections.size(); ++i) {
      section(s_.sections[i].section, s_.sections[i].first,
              static_cast<std::int32_t>(s_.end_of(i)));
    }
    folded_.cycles = cycles_of(p_.order, turns_);
    folded_.channels = p_.channels;
    for (const Section& section : p_.sections) {
      folded_.micro_batches = std::max(folded_.micro_batches, section.micro_batch + 1);
    }
    folded_.steady = p_.order.steady;
    folded_.ready = p_.order.ready;
    folded_.settled = settled(s_);
    return {std::move(folded_), std::move(turns_)};
  }

 private:
  std::int32_t shape(const Shape& shape) {
    const auto found = std::find(folded_.shapes.begin(), folded_.shapes.end(), shape);
    if (found == folded_.shapes.end()) folded_.shapes.push_back(shape);
    return static_cast<std::int32_t>(
        std::find(folded_.shapes.begin(), folded_.shapes.end(), shape) - folded_.shapes.begin());
  }

  void add_terms(Id id, std::vector<Size::Term>& terms) const {
    const Value& value = p_[id];
    for (Id member : value.members) add_terms(member, terms);
    if (!value.members.empty()) return;
    const std::int32_t own = value_shape_[static_cast<std::size_t>(id)];
    for (Size::Term& term : terms) {
      if (term.shape == own) {
        ++term.times;
        return;
      }
    }
    terms.push_back({own, 1});
  }

  std::int32_t size(Id id) { return size_of_all({&id, 1}); }

  // Of values of one precision together.
  std::int32_t size_of_all(std::span<const Id> ids) {
    Size size;
    for (Id id : ids) add_terms(id, size.terms);
    size.precision = p_[ids.front()].precision;
    Key key{static_cast<std::int32_t>(size.precision)};
    for (const Size::Term& term : size.terms) key.insert(key.end(), {term.shape, term.times});
    const auto [number, fresh] = size_index_.number(key);
    if (fresh) folded_.sizes.push_back(std::move(size));
    return number;
  }

  static void add_persistent(std::vector<BufferEvent>& events, const BufferEvent& one) {
    for (BufferEvent& event : events) {
      if (event.size == one.size && event.role == one.role) {
        ++event.sign;
        return;
      }
    }
    events.push_back(one);
  }

  std::int32_t size_of(Id id) const { return value_size_[static_cast<std::size_t>(id)]; }
  std::int32_t shape_of(Id id) const { return value_shape_[static_cast<std::size_t>(id)]; }

  // In order of appearance: an address is no number.
  std::int32_t function_number(const Function* function) {
    const auto found = std::find(functions_.begin(), functions_.end(), function);
    if (found == functions_.end()) functions_.push_back(function);
    return static_cast<std::int32_t>(std::find(functions_.begin(), functions_.end(), function) -
                                     functions_.begin());
  }

  std::int32_t op_class(const Op& op) {
    key_ = {static_cast<std::int32_t>(op.kind), function_number(op.function),
            static_cast<std::int32_t>(op.form)};
    const Attributes& of = op.attributes;
    for (std::int64_t number : {of.sequence, of.group, of.heads, of.window}) {
      key_.push_back(static_cast<std::int32_t>(number));
    }
    key_.push_back(of.newest ? 1 : 0);
    for (Id id : op.inputs) key_.insert(key_.end(), {size_of(id), shape_of(id)});
    key_.push_back(-1);
    for (Id id : op.outputs) key_.push_back(size_of(id));
    const auto [number, fresh] = class_index_.number(key_);
    if (fresh) {
      OpClass c;
      c.kind = op.kind;
      c.function = cost_function(p_, op);
      c.form = op.form;
      c.attributes = op.attributes;
      for (Id id : op.inputs) {
        c.reads.push_back(size_of(id));
        if (p_[id].on_host) c.fetched.push_back(size_of(id));
      }
      // What passes through a bucket is counted as what is read and written.
      for (Id id : op.outputs) {
        if (id != op.bucket) c.writes.push_back(size_of(id));
      }
      if (op.bucket != -1) c.bucket = size_of(op.bucket);
      c.shape_a = shape_of(op.inputs.at(0));
      if (op.inputs.size() > 1) c.shape_b = shape_of(op.inputs[1]);
      folded_.classes.push_back(std::move(c));
    }
    return number;
  }

  std::int32_t collective_class(const Op& op) {
    const std::span<const Id> buffers = op.buffers();
    const std::int32_t size = buffers.size() == 1 ? size_of(buffers[0]) : size_of_all(buffers);
    key_ = {static_cast<std::int32_t>(op.kind), op.channel, size};
    const auto [number, fresh] = collective_index_.number(key_);
    if (fresh) folded_.collectives.push_back({op.collective_kind(), op.channel, size});
    return number;
  }

  void close_bundle(Body& body) {
    if (bundle_.empty()) return;
    const auto [number, fresh] = bundle_index_.number(bundle_);
    if (fresh) folded_.bundles.push_back(bundle_);
    body.steps.push_back({IssueKind::compute, {}, number, 0});
    bundle_.clear();
  }

  void section(std::int32_t section, std::int32_t first, std::int32_t last) {
    Body body;
    body.section = section;
    for (std::int32_t i = first; i < last; ++i) add(s_.stream[static_cast<std::size_t>(i)], body);
    close_bundle(body);
    Key key;
    for (const FoldedStep& f : body.steps) {
      key.insert(key.end(), {static_cast<std::int32_t>(f.kind), f.channel, f.index, f.back});
    }
    for (const BufferEvent& e : body.events) {
      key.insert(key.end(), {e.size, e.sign, static_cast<std::int32_t>(e.role),
                             static_cast<std::int32_t>(e.existence), e.on_host ? 1 : 0});
    }
    const auto [number, fresh] = body_index_.number(key);
    if (fresh) folded_.bodies.push_back(std::move(body));
    const std::int64_t turn = p_.sections[static_cast<std::size_t>(section)].turn;
    turns_[static_cast<std::size_t>(turn)].push_back(number);
  }

  void add(const Issue& issue, Body& body) {
    switch (issue.kind) {
      case IssueKind::compute:
        bundle_.push_back(op_class(p_.ops[static_cast<std::size_t>(issue.id)]));
        break;
      case IssueKind::start: {
        close_bundle(body);
        const Op& op = p_.ops[static_cast<std::size_t>(issue.id)];
        ++posts_[static_cast<std::size_t>(op.channel)];
        body.steps.push_back({IssueKind::start, op.channel, collective_class(op), 0});
        break;
      }
      case IssueKind::wait: {
        const ChannelNumber channel = p_.ops[static_cast<std::size_t>(issue.id)].channel;
        if (known_complete(channel, issue.back)) break;
        close_bundle(body);
        body.steps.push_back({IssueKind::wait, channel, 0, issue.back});
        break;
      }
      case IssueKind::choose:
        close_bundle(body);
        body.steps.push_back({IssueKind::choose, {}, 0, 0});
        break;
      case IssueKind::allocate:
      case IssueKind::release:
        body.events.push_back({size_of(issue.id), issue.kind == IssueKind::allocate ? 1 : -1,
                               p_[issue.id].role, issue.existence, issue.axis,
                               p_[issue.id].on_host});
    }
  }

  // Channels are FIFO: whoever waited for a post has waited for all before it.
  bool known_complete(ChannelNumber channel, std::int32_t back) {
    if (back == oldest_post) return false;
    const std::int32_t post = posts_[static_cast<std::size_t>(channel)] - back;
    std::int32_t& waited = waited_[static_cast<std::size_t>(channel)];
    if (post <= waited) return true;
    waited = post;
    return false;
  }

  const Schedule& s_;
  const Program& p_;
  Folded folded_;
  std::vector<std::int32_t> value_shape_, value_size_;
  Index size_index_, class_index_, collective_index_, bundle_index_, body_index_;
  Key key_, bundle_;
  std::vector<std::int32_t> posts_, waited_;  // by channel
  std::vector<const Function*> functions_;
  TurnBodies turns_;
};

}  // namespace

Folded fold_schedule(const Schedule& schedule) {
  return Folder(schedule).run().folded;
}

FoldedTurns fold_turns(const Schedule& schedule) {
  return Folder(schedule).run();
}

std::vector<BodyCycle> cycles_of(const Order& order, const TurnBodies& bodies) {
  Cycles cycles(order);
  for (std::size_t turn = 0; turn < bodies.size(); ++turn) {
    for (std::int32_t body : bodies[turn]) cycles.add(turn, body);
  }
  return std::move(cycles).all();
}

std::int64_t backwards_put_off(const StepOptions& options, std::int64_t sections) {
  const bool crosses = options.overlap.reduce_scatter &&
                       options.gradient_reduction == GradientReduction::per_micro_batch;
  return crosses ? (options.in_flight_blocks + sections - 1) / sections : 0;
}

std::int64_t recorded_micro_batches(const Model& model, const StepOptions& options,
                                    const Stage& stage) {
  // Sections of a period's backward passes that reduce-scatter: the layers, and the vocabulary on
  // the stages that have it.
  const std::int64_t layers = fewest_layers(model, options, stage.count) * options.chunks;
  const std::int64_t sections = std::max<std::int64_t>(1, layers) + (stage.count == 1 ? 1 : 0);
  const std::int64_t lag = backwards_put_off(options, sections);
  // The last send of the first micro-batch is under way when the first period begins.
  const std::int64_t sends = stage.count > 1 ? 1 : 0;
  return settling_micro_batches(options, stage, 1 + std::max(lag, sends));
}

Schedule recorded_schedule(const Model& model, const StepOptions& options, const Stage& stage) {
  StepOptions few = options;
  few.micro_batches =
      std::min(options.micro_batches, recorded_micro_batches(model, options, stage));
  for (;;) {
    Schedule schedule = issue(record_step(model, few, stage), few);
    if (few.micro_batches == options.micro_batches || settled(schedule)) return schedule;
    few.micro_batches = std::min(options.micro_batches, few.micro_batches + stage.count);
  }
}

Folded folded_step(const Model& model, const StepOptions& options, const Stage& stage) {
  Folded folded = fold_schedule(recorded_schedule(model, options, stage));
  if (options.micro_batches > folded.micro_batches) stretch(folded, options.micro_batches);
  return folded;
}

void scale_caches(Folded& folded, std::int64_t micro_batches) {
  for (BufferEvent& event : folded.persistent) {
    if (event.role != Role::cache) continue;
    event.sign = static_cast<std::int32_t>(event.sign / folded.micro_batches * micro_batches);
  }
}

void stretch(Folded& folded, std::int64_t micro_batches) {
  const std::int64_t missing = micro_batches - folded.micro_batches;
  bool periods = !folded.steady.empty();
  for (const Steady& steady : folded.steady) periods &= steady.periods >= 1;
  if (!periods || !folded.settled || missing < 0) {
    throw std::logic_error("fold: " + std::to_string(folded.micro_batches) +
                           " micro-batches cannot be stretched to " +
                           std::to_string(micro_batches) +
                           (folded.settled ? "" : ": what is in flight has not settled"));
  }
  for (std::size_t i = 0; i < folded.steady.size(); ++i) {
    Steady& steady = folded.steady[i];
    const Order::Period last{static_cast<std::int64_t>(i), steady.periods - 1};
    const auto cycle = std::find_if(folded.cycles.begin(), folded.cycles.end(),
                                    [&](const BodyCycle& c) { return c.period == last; });
    cycle->repeats += missing / steady.micro_batches;
  }
  scale_caches(folded, micro_batches);
  folded.micro_batches = micro_batches;
  if (folded.ready.limit > 0) folded.ready.turns = 2 * micro_batches;
}

}  // namespace fourfold::inline schedule::inline fold
