// See percents.hpp.
#include "scaling/words/percents.hpp"

#include <fmt/format.h>

namespace fourfold::inline scaling::inline words {

std::string percent(double share) {
  return fmt::format("{:.1f}", 100.0 * share);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f}", 100.0 * share);
}

}  // namespace fourfold::inline scaling::inline words
