// Words of a tuning and back; see collective_tuning.hpp.
#include "sim/cost/collective_tuning.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "support/nearest_name.hpp"

namespace fourfold::inline sim::inline cost {
namespace {

constexpr const char* automatic = "auto";

template <typename Choice, std::size_t count>
Choice chosen(const std::string& word, const std::string& what,
              const std::array<Choice, count>& choices, std::vector<std::string> others) {
  for (Choice choice : choices) {
    if (word == name(choice)) return choice;
    others.emplace_back(name(choice));
  }
  throw std::runtime_error("there is no " + what + " '" + word + "'" + one_of_these(word, others));
}

}  // namespace

CollectiveTuning collective_tuning(const std::string& words) {
  constexpr std::array kinds{CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                             CollectiveKind::all_reduce};
  constexpr std::array algorithms{CollectiveAlgorithm::ring, CollectiveAlgorithm::tree,
                                  CollectiveAlgorithm::recursive,
                                  CollectiveAlgorithm::hierarchical};
  CollectiveTuning tuning;
  const std::size_t colon = words.find(':');
  const std::string algorithm = colon == std::string::npos ? words : words.substr(colon + 1);
  if (colon != std::string::npos) {
    tuning.only = chosen(words.substr(0, colon), "collective", kinds, {});
  }
  if (algorithm != automatic) {
    tuning.algorithm = chosen(algorithm, "collective algorithm", algorithms, {automatic});
  }
  if (!tuning.algorithm) tuning.only.reset();
  return tuning;
}

std::string name(const CollectiveTuning& tuning) {
  if (!tuning.algorithm) return automatic;
  return (tuning.only ? std::string(name(*tuning.only)) + ":" : "") + name(*tuning.algorithm);
}

}  // namespace fourfold::inline sim::inline cost
