// Sentences about names nobody knows; the distance between names is in platforms/nearest_name.
#include "sim/nearest_name.hpp"

namespace fourfold {

std::string unknown_name(const std::string& what, const std::string& word,
                         const std::vector<std::string>& known) {
  std::string sentence = "unknown " + what + " '" + word + "'";
  if (!known.empty()) sentence += "; the nearest known is '" + nearest_name(word, known) + "'";
  return sentence;
}

}  // namespace fourfold
