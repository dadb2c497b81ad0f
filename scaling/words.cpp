// Plurals; see words.hpp.
#include "scaling/words.hpp"

namespace fourfold {

std::string counted(std::int64_t number, const std::string& noun) {
  const std::string ending = number == 1 ? "" : noun.ends_with("ch") ? "es" : "s";
  return std::to_string(number) + ' ' + noun + ending;
}

}  // namespace fourfold
