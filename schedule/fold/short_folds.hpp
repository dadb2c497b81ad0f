// Folded steps of the stages of a pipeline, put together from recordings of a few micro-batches:
// turns that are alike and have the same neighbours are folded alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "schedule/fold/fold.hpp"

namespace fourfold::inline schedule::inline fold {

// Of one model with options that differ in their micro-batches only. A long pipeline's step begins
// with as many forwards as there are stages, all but the first and the last of them alike; a step
// with fewer of them says all there is to know, and serves many stages and numbers of
// micro-batches.
class ShortFolds {
 public:
  // The model must outlive it.
  ShortFolds(const Model& model, const StepOptions& options) : model_(model), options_(options) {}

  // Exactly folded_step. None in an order with a ready-queue, and where turns with the same
  // neighbours are folded differently.
  std::optional<Folded> step(const Stage& stage, std::int64_t micro_batches);

 private:
  // What a turn's fold depends on, as numbers: the turns about it, and the backwards before it.
  using Context = std::vector<std::int64_t>;
  struct Recorded {
    Folded folded;
    std::map<Context, std::vector<std::int32_t>> bodies;
    bool of_context = true;  // whether each context has one list of bodies
  };

  std::vector<Context> contexts(const Order& order, const Stage& stage) const;
  Order shortest(const StepOptions& options, const Stage& stage,
                 const std::vector<Context>& needed) const;
  const Recorded& recorded(const Order& order, const StepOptions& options, const Stage& stage);
  Stage same_as(const Stage& stage) const;

  const Model& model_;
  StepOptions options_;
  // By stage, number of stages and the turns' contexts.
  std::map<std::tuple<std::int64_t, std::int64_t, std::vector<Context>>, Recorded> recorded_;
};

// The folded steps of all stages.
std::vector<Folded> folded_stages(const Model& model, const StepOptions& options,
                                  std::int64_t stages);

}  // namespace fourfold::inline schedule::inline fold
