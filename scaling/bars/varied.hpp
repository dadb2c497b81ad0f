// Estimates of one point on platforms that differ in a number: its step is recorded once, and rates
// of rings are tabulated where that number is one of the nodes or the network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/network/axis_rate.hpp"
#include "sim/estimate/recordings.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline scaling::inline bars {

class Varied {
 public:
  // Both must outlive it.
  Varied(const Point& point, const Platform& platform);

  Seconds estimated() const { return estimate_on(platform_, rates_); }
  // With the number, or a part's (file/scale_groups.hpp), times a factor besides the point's own.
  // Absent if the scaled platform is refused, say a fraction above 1.
  std::optional<Seconds> estimated_with(const std::string& key, double factor) const;

 private:
  Seconds estimate_on(const Platform& platform, const AxisRates& rates) const;

  const Point& point_;
  const Platform& platform_;
  AxisRates rates_;
  Recordings recordings_;
  const Pipeline& pipeline_;
};

// The parts and the rates of the machine that limit a point: of each what the step would take by
// estimate if it were twice as fast, the least first. Those that save less than a hundredth are
// left out.
struct Limit {
  std::string key;
  Seconds twice;
};
std::vector<Limit> limits(const Point& point, const Platform& platform);

}  // namespace fourfold::inline scaling::inline bars
