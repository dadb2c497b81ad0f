// Records what was not asked for yet, and stretches it; see recordings.hpp.
#include "sim/estimate/recordings.hpp"

#include <algorithm>
#include <utility>

#include "schedule/fold/deep_folds.hpp"

namespace fourfold::inline sim::inline estimate {

struct Recordings::OfShallow {
  OfShallow(Model of, const StepOptions& options)
      : model(std::move(of)), recordings(model, options) {}

  Model model;
  Recordings recordings;
};

Recordings::Recordings(const Model& model, const StepOptions& options)
    : model_(model), options_(options), short_folds_(model, options) {}

Recordings::~Recordings() = default;

const Pipeline& Recordings::pipeline(std::int64_t stages, std::int64_t micro_batches) {
  const auto [slot, fresh] = pipelines_.try_emplace({stages, micro_batches});
  if (fresh) {
    std::vector<Folded> step;
    for (std::int64_t i = 0; i < stages; ++i) step.push_back(stage({i, stages}, micro_batches));
    slot->second = Pipeline(std::move(step));
  }
  return slot->second;
}

const Folded& Recordings::stage(const Stage& stage, std::int64_t micro_batches) {
  const auto [slot, fresh] = stretched_.try_emplace({stage.index, stage.count, micro_batches});
  if (!fresh) return slot->second;
  if (std::optional<Folded> step = from_shallow(stage, micro_batches)) {
    return slot->second = std::move(*step);
  }
  if (stage.count > 1) {
    if (std::optional<Folded> step = short_folds_.step(stage, micro_batches)) {
      return slot->second = std::move(*step);
    }
  }
  slot->second = recorded(stage, micro_batches);
  if (micro_batches > slot->second.micro_batches) stretch(slot->second, micro_batches);
  return slot->second;
}

std::optional<Folded> Recordings::from_shallow(const Stage& stage, std::int64_t micro_batches) {
  if (!shallow_say_all_) return {};
  const std::optional<ShallowModels> models = shallow_models(model_, options_, stage.count);
  if (!models) return {};
  std::optional<Folded> step =
      deepened(of(models->few).stage(stage, micro_batches),
               of(models->more).stage(stage, micro_batches), models->periods);
  shallow_say_all_ = step.has_value();
  return step;
}

Recordings& Recordings::of(const Model& shallow) {
  std::unique_ptr<OfShallow>& own = shallow_[shallow.layers];
  if (!own) own = std::make_unique<OfShallow>(shallow, options_);
  return own->recordings;
}

const Folded& Recordings::recorded(const Stage& stage, std::int64_t micro_batches) {
  StepOptions options = options_;
  options.micro_batches = micro_batches;
  const std::int64_t few = std::min(micro_batches, recorded_micro_batches(model_, options_, stage));
  Folded& shared = recordings_[{stage.index, stage.count, few}];
  if (shared.cycles.empty()) shared = fold_schedule(recorded_schedule(model_, options, stage));
  if (shared.micro_batches <= micro_batches) return shared;
  // What many had to record is more than these are.
  Folded& own = recordings_[{stage.index, stage.count, micro_batches}];
  if (own.cycles.empty()) own = fold_schedule(recorded_schedule(model_, options, stage));
  return own;
}

Recordings& AllRecordings::of(StepOptions options) {
  options.micro_batches = 1;
  for (auto& [known, recordings] : known_) {
    if (known == options) return recordings;
  }
  return known_
      .emplace_back(std::piecewise_construct, std::forward_as_tuple(options),
                    std::forward_as_tuple(model_, options))
      .second;
}

}  // namespace fourfold::inline sim::inline estimate
