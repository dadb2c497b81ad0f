// Hours where there are any, minutes and seconds; see clock_text.hpp.
#include "support/clock_text.hpp"

#include <cmath>
#include <cstdint>

namespace fourfold::inline support {

namespace {

std::string two_digits(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return digits.size() < 2 ? "0" + digits : digits;
}

}  // namespace

std::string clock_text(double seconds) {
  if (seconds < 0.0) return "?";
  const std::int64_t whole = std::llround(seconds);
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  std::string text = hours > 0 ? std::to_string(hours) : std::to_string(minutes);
  if (hours > 0) text.append(1, ':').append(two_digits(minutes));
  return text.append(1, ':').append(two_digits(whole % 60));
}

}  // namespace fourfold::inline support
