// What half and double of each unconfirmed number of a platform would do to a point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/question/point.hpp"

namespace fourfold::inline scaling::inline bars {

struct Effect {
  std::string key;
  double value = 0.0;                  // as the platform file has it, in the key's unit
  std::optional<Seconds> half, twice;  // absent where the platform would be impossible
};

struct Sensitivity {
  Point point;
  Seconds estimated;             // of the point as it is
  std::vector<Effect> effects;   // at least `threshold`, largest first
  std::int64_t unconfirmed = 0;  // facts that were varied
  static constexpr double threshold = 0.005;
};

// On the estimated rung, with the grid of the point kept.
Sensitivity sensitivity(const Point& point);

// Paragraph and table; says so if no effect reaches the threshold.
std::string sensitivity_table(const Sensitivity& result);

}  // namespace fourfold::inline scaling::inline bars
