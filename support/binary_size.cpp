// The largest unit that a size reaches, four digits at most; see binary_size.hpp.
#include "support/binary_size.hpp"

#include <array>
#include <cstdio>
#include <stdexcept>

namespace fourfold::inline support {

std::string size_text(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < units.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g %s", bytes, units[unit]);
  return text.data();
}

std::int64_t size_from_text(const std::string& text) {
  std::size_t used = 0;
  std::int64_t number = 0;
  try {
    number = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  int shift = -1;
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "K" || unit == "KiB") shift = 10;
  if (unit == "M" || unit == "MiB") shift = 20;
  if (unit == "G" || unit == "GiB") shift = 30;
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (used == 0 || shift < 0 || number < 1 || number > most >> shift) {
    throw std::invalid_argument("'" + text + "' is no size from 1 to 1024G, such as 64KiB or 4M");
  }
  return number << shift;
}

}  // namespace fourfold::inline support
