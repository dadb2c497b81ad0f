// Walks all stages, each as far as it can go; see lockstep.hpp.
#include "engine/reference/lockstep.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/initial_weights.hpp"
#include "engine/reference/scatter.hpp"
#include "schedule/order/side_by_side.hpp"
#include "schedule/order/stage_messages.hpp"
#include "schedule/order/step.hpp"
#include "schedule/program/views.hpp"

namespace fourfold::inline engine::inline reference {

namespace {

std::vector<Schedule> schedules(const Model& model, const StepOptions& options,
                                std::int64_t stages) {
  std::vector<Schedule> result;
  for (std::int64_t i = 0; i < stages; ++i) {
    result.push_back(issue(record_step(model, options, Stage{i, stages}), options));
  }
  return result;
}

// A stage's ranks among themselves.
ProcessGrid one_stage(const ProcessGrid& grid) {
  return ProcessGrid(grid.extent(Axis::x), grid.extent(Axis::y), grid.extent(Axis::z),
                     grid.extent(Axis::data))
      .with_second(grid.extent(Axis::expert_tensor), grid.extent(Axis::expert));
}

}  // namespace

template <typename T>
Lockstep<T>::Lockstep(const Model& model, const StepOptions& options, const ProcessGrid& grid,
                      std::uint64_t seed, Rounding rounding)
    : Lockstep(model, schedules(model, options, grid.extent(Axis::pipe)), grid, seed, rounding) {}

template <typename T>
Lockstep<T>::Lockstep(const Model& model, std::vector<Schedule> stages, const ProcessGrid& grid,
                      std::uint64_t seed, Rounding rounding)
    : model_(model), grid_(one_stage(grid)), mailboxes_(grid.extent(Axis::pipe)) {
  check(model_, grid);
  if (stages.size() > 1) {
    std::vector<Order> orders;
    for (const Schedule& schedule : stages) orders.push_back(schedule.program.order);
    const bool trains = row_of(stages.front().program.phase).trains;
    if (const std::string why = fault(orders, trains); !why.empty()) {
      throw std::invalid_argument(why);
    }
  }
  for (Schedule& schedule : stages) {
    if (const std::string why = view_misfit(schedule.program, grid_); !why.empty()) {
      throw std::invalid_argument("lockstep: " + why);
    }
    walks_.push_back(
        std::make_unique<StageWalk<T>>(model, std::move(schedule), grid_, rounding, mailboxes_));
  }
  for (const std::string& parameter : parameters()) {
    const BlockStore<T>& store = holder(parameter);
    const Value& value = store.program()[store.persistent(parameter)];
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
void Lockstep<T>::add_kernel(const reference::Kernel<T>& kernel) {
  for (auto& walk : walks_) walk->kernels().add(kernel);
}

template <typename T>
std::vector<std::string> Lockstep<T>::parameters() const {
  std::vector<std::string> names;
  for (const auto& walk : walks_) {
    for (const std::string& name : walk->store().parameters()) {
      if (std::ranges::count(names, name) == 0) names.push_back(name);
    }
  }
  return names;
}

template <typename T>
bool Lockstep<T>::holds(const StageWalk<T>& walk, const std::string& parameter) const {
  return std::ranges::count(walk.store().parameters(), parameter) > 0;
}

template <typename T>
const BlockStore<T>& Lockstep<T>::holder(const std::string& parameter) const {
  for (const auto& walk : walks_) {
    if (holds(*walk, parameter)) return walk->store();
  }
  return walks_.front()->store();  // which says that there is none, or knows its optimizer state
}

template <typename T>
Matrix<T> Lockstep<T>::gradient(const std::string& parameter) const {
  for (const auto& walk : walks_) {
    const auto found = walk->gradients().find(parameter);
    if (found == walk->gradients().end()) continue;
    return gather(found->second.shape, grid_, found->second.blocks);
  }
  throw std::invalid_argument("no step has given a gradient of " + parameter);
}

template <typename T>
void Lockstep<T>::take_caches(const Lockstep& from) {
  for (std::size_t stage = 0; stage < walks_.size(); ++stage) {
    BlockStore<T>& to = walks_[stage]->store();
    const BlockStore<T>& store = from.walks_.at(stage)->store();
    for (std::size_t i = 0; i < to.program().values.size(); ++i) {
      const Value& own = to.program().values[i];
      if (own.role != Role::cache) continue;
      for (std::size_t k = 0; k < store.program().values.size(); ++k) {
        const Value& other = store.program().values[k];
        if (other.role == Role::cache && other.label.full() == own.label.full()) {
          to.put(static_cast<Id>(i), store[static_cast<Id>(k)]);
        }
      }
    }
  }
}

template <typename T>
void Lockstep<T>::set_weight(const std::string& parameter, const Matrix<T>& global) {
  for (auto& walk : walks_) {
    if (walks_.size() > 1 && !holds(*walk, parameter)) continue;
    BlockStore<T>& store = walk->store();
    const Id weight = store.persistent(parameter);
    for (const Parameter& of : store.program().parameters) {
      if (of.weight != weight) continue;
      store.set(weight, global);
      if (of.master != -1 && of.master != weight) store.set(of.master, global);
    }
  }
}

template <typename T>
StepResult Lockstep<T>::step(const Batch& batch, const AdamW& optimizer) {
  check(batch, model_, grid_, walks_.front()->micro_batches(), walks_.front()->program().phase);
  ++steps_done_;
  mailboxes_.clear();
  for (auto& walk : walks_) walk->begin(batch, optimizer, steps_done_);
  const bool ended = side_by_side(
      walks_.size(), [&](std::size_t i) { return walks_[i]->walk(); },
      [&](std::size_t i) { return walks_[i]->position(); });
  if (!ended) throw std::logic_error("lockstep: the stages wait for each other for ever");
  StepResult result;
  for (auto& walk : walks_) result.stages.push_back(walk->end());
  result.loss = result.stages.back().loss;
  result.gradient_norm = result.stages.back().gradient_norm;
  return result;
}

template class Lockstep<float>;
template class Lockstep<double>;

}  // namespace fourfold::inline engine::inline reference
