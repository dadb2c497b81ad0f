// Reads the unit; see counts_of_1024.hpp.
#include "support/counts_of_1024.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace fourfold::inline support {

CLI::Validator counts_of_1024() {
  const auto count = [](std::string& word) {
    const char* end = word.data() + word.size();
    double number = 0.0;
    const auto parsed = std::from_chars(word.data(), end, number);
    std::string unit(parsed.ptr, end);
    if (unit.size() == 2 && unit.back() == 'i') unit.pop_back();
    if (unit == "K") unit = "k";
    if (unit == "B") unit = "G";
    const std::size_t power = std::string("kMGT").find(unit);
    if (parsed.ec != std::errc() || unit.size() != 1 || power == std::string::npos) {
      return std::string();
    }
    const double whole = std::ldexp(number, 10 * (static_cast<int>(power) + 1));
    if (!(whole >= 0.0 && whole < 1e18) || whole != std::floor(whole)) {
      return fmt::format("'{}' is {}, which is no whole number", word, whole);
    }
    word = fmt::format("{:.0f}", whole);
    return std::string();
  };
  return {count, ""};
}

}  // namespace fourfold::inline support
