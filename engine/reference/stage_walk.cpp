// Walks a schedule for all ranks of a stage; see stage_walk.hpp.
#include "engine/reference/stage_walk.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/plan/block_place.hpp"
#include "engine/reference/adamw_step.hpp"
#include "engine/reference/lockstep_collectives.hpp"
#include "engine/reference/scatter.hpp"
#include "schedule/models/fit.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
StageWalk<T>::StageWalk(const Model& model, Schedule schedule, const ProcessGrid& grid,
                        Rounding rounding, Mailboxes<T>& mailboxes)
    : model_(model),
      cut_(cut_at_turns(schedule)),
      stream_(std::move(schedule.stream)),
      store_(std::move(schedule.program), grid, rounding),
      mailboxes_(mailboxes),
      post_number_(store_.program().ops.size(), 0) {
  for (const Section& section : program().sections) {
    micro_batches_ = std::max(micro_batches_, section.micro_batch + 1);
  }
}

template <typename T>
void StageWalk<T>::begin(const Batch& batch, const AdamW& optimizer, std::int64_t steps_done) {
  batch_ = &batch;
  micro_batch_tokens_ =
      batch.sequences / micro_batches_ * tokens_of_sequence(model_, program().phase);
  length_ = batch.length.value_or(model_.sequence);
  for (std::size_t i = 0; i < program().values.size(); ++i) {
    const Value& value = program().values[i];
    const auto id = static_cast<Id>(i);
    const bool kept = value.role == Role::cache && value.persistent;
    if (kept && !store_.holds(id)) store_.put(id, store_.empty(id, micro_batch_tokens_));
  }
  optimizer_ = optimizer;
  steps_done_ = steps_done;
  step_targets_ = std::max<std::int64_t>(1, counted_targets(batch.targets));
  const std::size_t channels = program().channels.size();
  posts_.assign(channels, 0);
  result_ = {};
  result_.payload.resize(channels);
  next_ = cut_.before.first;
  last_ = cut_.before.last;
  steps_ = 0;
  const ReadyQueue& queue = program().order.ready;
  behind_ = queue.limit == 0;
  ready_ = {queue.limit, queue.turns / 2, program().stage};
}

// Of a fixed order there is one, of a ready-queue one before it, one a turn, and one behind it.
template <typename T>
bool StageWalk<T>::next_stretch() {
  if (behind_) return false;
  const CutStream::Stretch* next = &cut_.behind;
  behind_ = ready_.over();
  if (!behind_) {
    const StepPart part = next_turn();
    next = &stretch(part);
    ready_.take(part);
  }
  next_ = next->first;
  last_ = next->last;
  return true;
}

template <typename T>
const CutStream::Stretch& StageWalk<T>::stretch(StepPart part) const {
  return part == StepPart::forward ? cut_.forwards[static_cast<std::size_t>(ready_.forwards())]
                                   : cut_.backwards[static_cast<std::size_t>(ready_.backwards())];
}

template <typename T>
StepPart StageWalk<T>::next_turn() const {
  if (!ready_.open()) return ready_.only();
  const T word = choice_.at(0).values[0];
  for (const Matrix<T>& own : choice_) {
    if (own.values[0] == word) continue;
    throw std::logic_error("lockstep: the members of a stage have chosen different turns");
  }
  return static_cast<StepPart>(static_cast<int>(word));
}

template <typename T>
bool StageWalk<T>::arrived(StepPart part) const {
  if (part == StepPart::forward && !ready_.forwards_arrive()) return true;
  return mailboxes_.complete(post_of(stretch(part).receive));
}

// The first member along what is owed says the number of the part, all others nothing.
template <typename T>
bool StageWalk<T>::choose(std::int32_t i) {
  StepPart part = ready_.only();
  if (ready_.open()) {
    part = arrived(StepPart::backward) ? StepPart::backward : StepPart::forward;
    if (!arrived(part)) return false;
  }
  const Id word = op_at(i).outputs[0];
  choice_ = store_.empty(word, micro_batch_tokens_);
  const AxisSet owed = program()[word].shape.sharding.partial;
  for (std::size_t rank = 0; rank < choice_.size(); ++rank) {
    const bool says = is_first(store_.grid(), static_cast<std::int64_t>(rank), owed);
    choice_[rank].values[0] = says ? static_cast<T>(static_cast<int>(part)) : T{0};
  }
  store_.put(word, choice_);
  return true;
}

template <typename T>
bool StageWalk<T>::walk() {
  do {
    for (; next_ < last_; ++next_, ++steps_) {
      if (!step(stream_[next_])) return false;
    }
  } while (next_stretch());
  return true;
}

template <typename T>
bool StageWalk<T>::step(const Issue& issue) {
  switch (issue.kind) {
    case IssueKind::compute:
      compute(issue.id);
      break;
    case IssueKind::start:
      start(issue.id);
      break;
    case IssueKind::wait:
      if (joins_stages(op_at(issue.id)) && post_of(issue.id).number > 0 &&
          !mailboxes_.complete(post_of(issue.id))) {
        return false;
      }
      wait(issue);
      break;
    case IssueKind::choose:
      return choose(issue.id);
    case IssueKind::allocate:
      break;
    case IssueKind::release:
      store_.release(issue.id);
      break;
  }
  return true;
}

template <typename T>
StageResult StageWalk<T>::end() {
  if (!in_flight_.empty()) {
    throw std::logic_error("lockstep: the step ends while a collective is in flight");
  }
  store_.expect_step_is_over();
  return std::move(result_);
}

template <typename T>
void StageWalk<T>::expect_readable(Id id, const Op& op) const {
  const auto refuse = [&](const char* when) {
    throw std::logic_error(std::string("lockstep: ") + name(op.kind) + " reads " + name_of(id) +
                           when);
  };
  if (!store_.holds(id)) refuse(" before it is there or after its release");
  for (std::int32_t i : in_flight_) {
    if (works_in_place(op_at(i).kind) && op_at(i).inputs[0] == id) {
      refuse(" while a collective may overwrite it");
    }
  }
}

template <typename T>
void StageWalk<T>::compute(std::int32_t i) {
  const Op& op = op_at(i);
  for (Id input : op.inputs) {
    if (!store_.is_words(input)) expect_readable(input, op);
  }
  switch (op.kind) {
    case OpKind::pack:
      return pack(op);
    case OpKind::unpack:
      return unpack(op);
    case OpKind::cut:
      return cut(op);
    case OpKind::update:
      return update(op);
    case OpKind::view:
    case OpKind::to_host:
    case OpKind::to_device: {
      Blocks<T> copy = store_[op.inputs[0]];
      return store_.put(op.outputs[0], std::move(copy));
    }
    default:
      kernel(i);
  }
  observe(op);
}

template <typename T>
void StageWalk<T>::kernel(std::int32_t i) {
  const Op& op = op_at(i);
  Blocks<T> results = store_.empty(op.outputs[0], micro_batch_tokens_);
  Device device{&store_.program(),     store_.grid(), 0,
                model_.head_columns(), step_targets_, optimizer_.clip_norm,
                model_.norm_epsilon,   model_.rotary, length_};
  for (device.rank = 0; device.rank < device.grid.size(); ++device.rank) {
    const auto rank = static_cast<std::size_t>(device.rank);
    reference::Operands<T> operands;
    operands.output = results[rank].view();
    if (const std::size_t written = op.function->writes; written > 0) {
      operands.written = store_[op.inputs[written]][rank].view();
    }
    for (Id input : op.inputs) {
      if (store_.is_words(input)) {
        const Share own = share(device.grid, device.rank, store_.program().micro_batch_of(i),
                                micro_batch_tokens_);
        const auto& words = input == store_.program().targets ? batch_->targets : batch_->tokens;
        operands.tokens = {words.data() + own.first, static_cast<std::size_t>(own.count)};
        operands.inputs.push_back({});
      } else {
        const Matrix<T>& block = store_[input][rank];
        operands.inputs.push_back(block.view());
      }
    }
    kernels_.compute(device, op, operands);
  }
  store_.put(op.outputs[0], std::move(results));
}

template <typename T>
void StageWalk<T>::pack(const Op& op) {
  std::vector<const Blocks<T>*> members;
  for (Id member : op.inputs) members.push_back(&store_[member]);
  store_[op.outputs[0]] = packed(members);
}

template <typename T>
void StageWalk<T>::unpack(const Op& op) {
  std::int64_t first = 0;
  for (Id output : op.outputs) {
    store_[output] = store_.empty(output, micro_batch_tokens_);
    fourfold::unpack(store_[op.inputs[0]], first, store_[output]);
    first += store_.program().local_elements(output, store_.grid(), {micro_batch_tokens_});
  }
}

template <typename T>
void StageWalk<T>::cut(const Op& op) {
  const Blocks<T>& whole = store_[op.inputs[0]];
  Blocks<T> pieces = store_.empty(op.outputs[0], micro_batch_tokens_);
  for (std::size_t rank = 0; rank < pieces.size(); ++rank) {
    const auto elements = static_cast<std::int64_t>(whole[rank].values.size());
    const Part part = part_of(elements, store_.grid(), static_cast<std::int64_t>(rank), {op.axis});
    std::copy_n(whole[rank].values.begin() + part.first, part.valid, pieces[rank].values.begin());
  }
  store_.put(op.outputs[0], std::move(pieces));
}

template <typename T>
void StageWalk<T>::update(const Op& op) {
  if (op.bucket != -1) store_.put(op.bucket, store_.empty(op.bucket, micro_batch_tokens_));
  std::int64_t first = 0;
  for (const Parameter& parameter : op.updated()) {
    const Id weight = parameter.weight;
    const double decay = decays(store_.program()[weight].weight) ? optimizer_.weight_decay : 0.0;
    Blocks<T> own = store_.empty(weight, micro_batch_tokens_);
    fourfold::unpack(store_[op.inputs[0]], first, own);
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
      if (!optimizer_.takes(result_.gradient_norm)) break;
      const Matrix<T>& gradient = own[rank];
      reference::adamw({optimizer_, steps_done_, decay}, gradient.view(),
                       store_[op.inputs[1]][rank].values[0],
                       reference::Shard<T>{store_[parameter.master][rank].view(),
                                           store_[parameter.first_moment][rank].view(),
                                           store_[parameter.second_moment][rank].view()});
    }
    store_.put(weight, store_[parameter.master]);
    gradients_[name_of(weight)] = {program()[weight].shape, std::move(own)};
    first += store_.program().local_elements(weight, store_.grid(), {micro_batch_tokens_});
  }
}

template <typename T>
void StageWalk<T>::start(std::int32_t i) {
  const Op& op = op_at(i);
  for (Id input : op.inputs) expect_readable(input, op);
  post_number_[static_cast<std::size_t>(i)] = ++posts_[static_cast<std::size_t>(op.channel)];
  in_flight_.push_back(i);
  if (!joins_stages(op)) return;
  if (op.inputs.empty()) return mailboxes_.give(post_of(i), op, {}, Owed::sum, Precision::fp32);
  const Id input = op.inputs[0];
  mailboxes_.give(post_of(i), op, store_[input], program()[input].shape.sharding.owed,
                  store_.kept_precision(input));
}

// The values move at the wait: a result is never there before, and an operand must last until then.
template <typename T>
void StageWalk<T>::wait(const Issue& issue) {
  const Op& op = op_at(issue.id);
  const auto found = std::find(in_flight_.begin(), in_flight_.end(), issue.id);
  const std::int32_t posted_since = posts_[static_cast<std::size_t>(op.channel)] -
                                    post_number_[static_cast<std::size_t>(issue.id)];
  if (found == in_flight_.end() || (issue.back != oldest_post && posted_since != issue.back)) {
    throw std::logic_error(std::string("lockstep: a wait for what was not started, ") +
                           name(op.kind) + " of " + name_of(op.buffers()[0]));
  }
  in_flight_.erase(found);
  for (Id input : op.inputs) expect_readable(input, op);
  for (std::size_t k = 0; k < op.buffers().size(); ++k) arrive(issue.id, k);
  if (!op.outputs.empty()) observe(op);
}

// The k-th value of a collective, or a message.
template <typename T>
void StageWalk<T>::arrive(std::int32_t i, std::size_t k) {
  const Op& op = op_at(i);
  Blocks<T> results = joins_stages(op) ? mailboxes_.result(post_of(i), op)
                                       : reduced(op, op.inputs[k], op.outputs[k]);
  if (joins_stages(op) || store_.grid().extent(op.axis) > 1) {
    const Id input = op.inputs.empty() ? op.outputs[k] : op.inputs[k];
    const bool of_result = !op.outputs.empty() && op.buffers()[k] == op.outputs[k];
    const Blocks<T>& whole = of_result ? results : store_[input];
    result_.payload[static_cast<std::size_t>(op.channel)] +=
        Bytes{static_cast<double>(whole[0].values.size()) *
              static_cast<double>(bytes_per_element(program()[input].precision))};
  }
  if (op.outputs.empty()) return;
  if (is_collective(op.kind) && op.bucket != -1) {
    store_.put(op.bucket, store_.empty(op.bucket, micro_batch_tokens_));
  }
  if (program().channel_of(op).purpose == "choice") choice_ = results;
  store_.put(op.outputs[k], std::move(results));
}

template <typename T>
Blocks<T> StageWalk<T>::reduced(const Op& op, Id operand, Id result) const {
  Blocks<T> results = store_.empty(result, micro_batch_tokens_);
  const LineCollective<T> collective{&store_.grid(), op.axis, &store_[operand], &results,
                                     store_.kept_precision(operand)};
  switch (op.kind) {
    case OpKind::all_gather:
      collective.all_gather();
      break;
    case OpKind::reduce_scatter:
      collective.reduce_scatter();
      break;
    case OpKind::all_to_all:
      collective.all_to_all();
      break;
    case OpKind::all_to_all_v:
      collective.expect_marked(name_of(operand), store_[op.inputs[1]]);
      LineCollective<T>{&store_.grid(), op.axis, &store_[op.inputs[1]], nullptr, Precision::fp32}
          .expect_arrival(name_of(op.inputs[1]), name_of(op.inputs[2]), store_[op.inputs[2]]);
      collective.all_to_all();
      break;
    case OpKind::broadcast:
      collective.broadcast();
      break;
    case OpKind::neighbour_exchange:
      collective.neighbour_exchange();
      break;
    default:
      collective.all_reduce(program()[operand].shape.sharding.owed);
  }
  return results;
}

// What a step reports are values of the program: its completed loss, and what clipping reads.
template <typename T>
void StageWalk<T>::observe(const Op& op) {
  if (op.is(functions::norm_factor)) {
    T squares = 0;
    for (Id part : op.inputs) squares += store_[part][0].values[0];
    result_.gradient_norm = std::sqrt(static_cast<double>(squares));
  } else if (op.outputs[0] == store_.program().loss) {
    result_.loss = static_cast<double>(store_[op.outputs[0]][0].values[0]) /
                   static_cast<double>(step_targets_);
  }
}

template class StageWalk<float>;
template class StageWalk<double>;

}  // namespace fourfold::inline engine::inline reference
