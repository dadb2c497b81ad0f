// What replaces the collective library's own choice of algorithm, as NCCL_ALGO does: a what-if.
#pragma once

#include <optional>
#include <string>

#include "schedule/collectives/collective.hpp"

namespace fourfold::inline sim::inline cost {

struct CollectiveTuning {
  std::optional<CollectiveAlgorithm> algorithm;  // none: the library chooses
  std::optional<CollectiveKind> only;            // the kind it is for; none: every kind

  // The algorithm that is forced on a kind, if any.
  std::optional<CollectiveAlgorithm> forced(CollectiveKind kind) const {
    return only && *only != kind ? std::nullopt : algorithm;
  }
  bool operator==(const CollectiveTuning&) const = default;
};

// "auto", "ring", "tree", "recursive" or "hierarchical"; with a kind before it for that kind only:
// "all-reduce:tree". Throws std::runtime_error with a sentence that names the nearest known word.
CollectiveTuning collective_tuning(const std::string& words);
// The words again.
std::string name(const CollectiveTuning& tuning);

}  // namespace fourfold::inline sim::inline cost
