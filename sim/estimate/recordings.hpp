// Folded steps that a search shares: those of a stage differ in a count, once a few micro-batches
// are recorded.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/fold/fold.hpp"
#include "schedule/fold/pipeline.hpp"
#include "schedule/fold/short_folds.hpp"

namespace fourfold::inline sim::inline estimate {

// Of one model with options that differ in their micro-batches only. Steps of deep models are put
// together from those of shallow ones, where these say all.
class Recordings {
 public:
  // The model must outlive it.
  Recordings(const Model& model, const StepOptions& options);
  ~Recordings();

  // The step with so many micro-batches.
  const Pipeline& pipeline(std::int64_t stages, std::int64_t micro_batches);
  // That of one stage.
  const Folded& stage(const Stage& stage, std::int64_t micro_batches);

 private:
  struct OfShallow;

  const Folded& recorded(const Stage& stage, std::int64_t micro_batches);
  std::optional<Folded> from_shallow(const Stage& stage, std::int64_t micro_batches);
  Recordings& of(const Model& shallow);

  const Model& model_;
  StepOptions options_;
  ShortFolds short_folds_;
  std::map<std::int64_t, std::unique_ptr<OfShallow>> shallow_;  // by layers
  bool shallow_say_all_ = true;
  // By stage, number of stages and recorded micro-batches.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Folded> recordings_;
  // By stage, number of stages and micro-batches.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Folded> stretched_;
  // By number of stages and micro-batches.
  std::map<std::pair<std::int64_t, std::int64_t>, Pipeline> pipelines_;
};

// Of one model with whatever options grids leave in effect: few of many.
class AllRecordings {
 public:
  // The model must outlive it.
  explicit AllRecordings(const Model& model) : model_(model) {}

  // Their micro-batches do not matter.
  Recordings& of(StepOptions options);
  void clear() { known_.clear(); }

 private:
  const Model& model_;
  std::list<std::pair<StepOptions, Recordings>> known_;
};

}  // namespace fourfold::inline sim::inline estimate
