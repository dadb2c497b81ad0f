// Walks a schedule for all ranks; see lockstep.hpp.
#include "engine/reference/lockstep.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/initial_weights.hpp"
#include "engine/reference/adamw_step.hpp"
#include "engine/reference/compute.hpp"
#include "engine/reference/lockstep_collectives.hpp"
#include "engine/reference/scatter.hpp"
#include "schedule/order/step.hpp"

namespace fourfold {

template <typename T>
Lockstep<T>::Lockstep(const Model& model, const StepOptions& options, const ProcessGrid& grid,
                      std::uint64_t seed, Rounding rounding)
    : Lockstep(model, issue(record_step(model, options), options), grid, seed, rounding) {}

template <typename T>
Lockstep<T>::Lockstep(const Model& model, Schedule schedule, const ProcessGrid& grid,
                      std::uint64_t seed, Rounding rounding)
    : model_(model),
      stream_(std::move(schedule.stream)),
      store_(std::move(schedule.program), grid, rounding),
      post_number_(store_.program().ops.size(), 0) {
  check(model_, grid);
  for (const Section& section : store_.program().sections) {
    micro_batches_ = std::max(micro_batches_, section.micro_batch + 1);
  }
  for (const std::string& parameter : parameters()) {
    const Value& value = store_.program()[store_.persistent(parameter)];
    const Shape& shape = value.shape;
    const InitialWeights start(value.weight, parameter, model_.layers, seed);
    Matrix<T> global(shape.rows.value({}), shape.cols.value({}));
    for (std::int64_t i = 0; i < global.rows * global.cols; ++i) {
      global.values[static_cast<std::size_t>(i)] =
          static_cast<T>(start(i / global.cols, i % global.cols));
    }
    set_weight(parameter, global);
  }
}

template <typename T>
Matrix<T> Lockstep<T>::gradient(const std::string& parameter) const {
  const auto found = gradients_.find(parameter);
  if (found == gradients_.end()) {
    throw std::invalid_argument("no step has given a gradient of " + parameter);
  }
  const Shape& shape = store_.program()[store_.persistent(parameter)].shape;
  return gather(shape, store_.grid(), found->second);
}

template <typename T>
void Lockstep<T>::set_weight(const std::string& parameter, const Matrix<T>& global) {
  const Id weight = store_.persistent(parameter);
  for (const Parameter& of : store_.program().parameters) {
    if (of.weight != weight) continue;
    store_.set(weight, global);
    if (of.master != -1 && of.master != weight) store_.set(of.master, global);
  }
}

template <typename T>
StepResult Lockstep<T>::step(const Batch& batch, const AdamW& optimizer) {
  check(batch, model_, store_.grid(), micro_batches_);
  micro_batch_tokens_ = batch.sequences / micro_batches_ * model_.sequence;
  optimizer_ = optimizer;
  const std::size_t channels = store_.program().channels.size();
  posts_.assign(channels, 0);
  result_ = {};
  result_.payload.resize(channels);
  ++steps_done_;
  for (const Issue& issue : stream_) {
    switch (issue.kind) {
      case IssueKind::compute:
        compute(issue.id, batch);
        break;
      case IssueKind::start:
        start(issue.id);
        break;
      case IssueKind::wait:
        wait(issue);
        break;
      case IssueKind::allocate:
        break;
      case IssueKind::release:
        store_.release(issue.id);
        break;
    }
  }
  if (!in_flight_.empty()) {
    throw std::logic_error("lockstep: the step ends while a collective is in flight");
  }
  store_.expect_step_is_over();
  return result_;
}

template <typename T>
void Lockstep<T>::expect_readable(Id id, const Op& op) const {
  const auto refuse = [&](const char* when) {
    throw std::logic_error(std::string("lockstep: ") + name(op.kind) + " reads " + name_of(id) +
                           when);
  };
  if (!store_.holds(id)) refuse(" before it is there or after its release");
  for (std::int32_t i : in_flight_) {
    if (op_at(i).kind == OpKind::all_reduce && op_at(i).inputs[0] == id) {
      refuse(" while an all-reduce may overwrite it");
    }
  }
}

template <typename T>
void Lockstep<T>::compute(std::int32_t i, const Batch& batch) {
  const Op& op = op_at(i);
  for (Id input : op.inputs) {
    if (!store_.is_words(input)) expect_readable(input, op);
  }
  switch (op.kind) {
    case OpKind::pack:
      return pack(op);
    case OpKind::unpack:
      return unpack(op);
    case OpKind::update:
      return update(op);
    default:
      kernel(i, batch);
  }
  observe(op);
}

template <typename T>
void Lockstep<T>::kernel(std::int32_t i, const Batch& batch) {
  const Op& op = op_at(i);
  Blocks<T> results = store_.empty(op.outputs[0], micro_batch_tokens_);
  Device device{&store_.program(),
                store_.grid(),
                0,
                model_.hidden / model_.heads,
                micro_batch_tokens_ * micro_batches_,
                optimizer_.clip_norm};
  for (device.rank = 0; device.rank < device.grid.size(); ++device.rank) {
    const auto rank = static_cast<std::size_t>(device.rank);
    reference::Operands<T> operands;
    operands.output = results[rank].view();
    for (Id input : op.inputs) {
      if (store_.is_words(input)) {
        const Share own = share(device.grid, device.rank, store_.program().micro_batch_of(i),
                                micro_batch_tokens_);
        const auto& words = input == store_.program().targets ? batch.targets : batch.tokens;
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
void Lockstep<T>::pack(const Op& op) {
  std::vector<const Blocks<T>*> members;
  for (Id member : op.inputs) members.push_back(&store_[member]);
  store_[op.outputs[0]] = packed(members);
}

template <typename T>
void Lockstep<T>::unpack(const Op& op) {
  std::int64_t first = 0;
  for (Id output : op.outputs) {
    store_[output] = store_.empty(output, micro_batch_tokens_);
    fourfold::unpack(store_[op.inputs[0]], first, store_[output]);
    first += store_.program().local_elements(output, store_.grid(), {micro_batch_tokens_});
  }
}

template <typename T>
void Lockstep<T>::update(const Op& op) {
  std::int64_t first = 0;
  for (const Parameter& parameter : op.updated()) {
    const Id weight = parameter.weight;
    const double decay = decays(store_.program()[weight].weight) ? optimizer_.weight_decay : 0.0;
    Blocks<T> own = store_.empty(weight, micro_batch_tokens_);
    fourfold::unpack(store_[op.inputs[0]], first, own);
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
      const Matrix<T>& gradient = own[rank];
      reference::adamw({optimizer_, steps_done_, decay}, gradient.view(),
                       store_[op.inputs[1]][rank].values[0],
                       reference::Shard<T>{store_[parameter.master][rank].view(),
                                           store_[parameter.first_moment][rank].view(),
                                           store_[parameter.second_moment][rank].view()});
    }
    store_.put(weight, store_[parameter.master]);
    gradients_[name_of(weight)] = std::move(own);
    first += store_.program().local_elements(weight, store_.grid(), {micro_batch_tokens_});
  }
}

template <typename T>
void Lockstep<T>::start(std::int32_t i) {
  const Op& op = op_at(i);
  expect_readable(op.inputs[0], op);
  post_number_[static_cast<std::size_t>(i)] = ++posts_[static_cast<std::size_t>(op.channel)];
  in_flight_.push_back(i);
}

// The values move at the wait: a result is never there before, and an operand must last until then.
template <typename T>
void Lockstep<T>::wait(const Issue& issue) {
  const Op& op = op_at(issue.id);
  const Id operand = op.inputs[0];
  const Id result = op.outputs[0];
  const auto found = std::find(in_flight_.begin(), in_flight_.end(), issue.id);
  const std::int32_t posted_since = posts_[static_cast<std::size_t>(op.channel)] -
                                    post_number_[static_cast<std::size_t>(issue.id)];
  if (found == in_flight_.end() || posted_since != issue.back) {
    throw std::logic_error(std::string("lockstep: a wait for what was not started, ") +
                           name(op.kind) + " of " + name_of(result));
  }
  in_flight_.erase(found);
  expect_readable(operand, op);
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
    default:
      collective.all_reduce(store_.program()[operand].shape.sharding.owed);
  }
  if (store_.grid().extent(op.axis) > 1) {
    const std::size_t elements =
        std::max(store_[operand][0].values.size(), results[0].values.size());
    result_.payload[static_cast<std::size_t>(op.channel)] +=
        Bytes{static_cast<double>(elements) *
              static_cast<double>(bytes_per_element(store_.program()[operand].precision))};
  }
  store_.put(result, std::move(results));
  observe(op);
}

// What a step reports are values of the program: its completed loss, and what clipping reads.
template <typename T>
void Lockstep<T>::observe(const Op& op) {
  if (op.is(functions::norm_factor)) {
    const T squares = store_[op.inputs[0]][0].values[0] + store_[op.inputs[1]][0].values[0];
    result_.gradient_norm = std::sqrt(static_cast<double>(squares));
  } else if (op.outputs[0] == store_.program().loss) {
    const auto tokens = static_cast<double>(micro_batch_tokens_ * micro_batches_);
    result_.loss = static_cast<double>(store_[op.outputs[0]][0].values[0]) / tokens;
  }
}

template class Lockstep<float>;
template class Lockstep<double>;

}  // namespace fourfold
