// Words of a tuning and back; see collective_tuning.hpp.
#include "sim/cost/collective_tuning.hpp"

#include <stdexcept>
#include <vector>

#include "support/nearest_name.hpp"

namespace fourfold::inline sim::inline cost {
namespace {

constexpr const char* automatic = "auto";

[[noreturn]] void refuse(const std::string& what, const std::string& word,
                         const std::vector<std::string>& known) {
  throw std::runtime_error("there is no " + what + " '" + word + "'" + one_of_these(word, known));
}

CollectiveKind kind_in(const std::string& word) {
  if (const auto kind = kind_named(word, around_rows)) return *kind;
  std::vector<std::string> known;
  for (const KindRow& row : around_rows) known.emplace_back(row.name);
  refuse("collective", word, known);
}

CollectiveAlgorithm algorithm_in(const std::string& word) {
  std::vector<std::string> known{automatic};
  for (CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree, CollectiveAlgorithm::recursive,
        CollectiveAlgorithm::hierarchical}) {
    if (word == name(algorithm)) return algorithm;
    known.emplace_back(name(algorithm));
  }
  refuse("collective algorithm", word, known);
}

}  // namespace

CollectiveTuning collective_tuning(const std::string& words) {
  CollectiveTuning tuning;
  const std::size_t colon = words.find(':');
  const std::string algorithm = colon == std::string::npos ? words : words.substr(colon + 1);
  if (colon != std::string::npos) {
    tuning.only = kind_in(words.substr(0, colon));
  }
  if (algorithm != automatic) {
    tuning.algorithm = algorithm_in(algorithm);
  }
  if (!tuning.algorithm) tuning.only.reset();
  return tuning;
}

std::string name(const CollectiveTuning& tuning) {
  if (!tuning.algorithm) return automatic;
  return (tuning.only ? std::string(name(*tuning.only)) + ":" : "") + name(*tuning.algorithm);
}

}  // namespace fourfold::inline sim::inline cost
