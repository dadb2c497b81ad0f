// Folded steps of deep models, put together from two shallow ones: every layer that is added to all
// chunks adds the same.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/fold/fold.hpp"

namespace fourfold::inline schedule::inline fold {

// Two models like a deep one, in stages alike: `more` has one period of layers more in each chunk
// than `few`, the deep one `periods` more.
struct ShallowModels {
  Model few, more;
  std::int64_t periods = 0;
};

// None where a model is not deep enough for it to pay, and where layers are not alike but for the
// pattern of their kinds: as given by stage, recomputed in part, or in buckets of elements.
std::optional<ShallowModels> shallow_models(const Model& model, const StepOptions& options,
                                            std::int64_t stages);

// The fold of a step with `periods` times what `more` has beyond `few`. None where the two differ
// in more than counts.
std::optional<Folded> deepened(const Folded& few, const Folded& more, std::int64_t periods);

}  // namespace fourfold::inline schedule::inline fold
