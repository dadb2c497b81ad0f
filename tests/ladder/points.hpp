// Points for the tests that compare rungs, and whether two rungs say the same seconds.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/estimate/estimate.hpp"
#include "sim/question/point.hpp"
#include "tests/points.hpp"

namespace fourfold::tests {

inline Model short_model() {
  return {"gpt-short", 6, 3840, 120, 2048, 51'200};
}

inline Point point_on(const std::string& platform, const Model& model, const ProcessGrid& grid) {
  Point point = made_up_point(platform, model, grid);
  // Two sequences for every rank along z and data, whatever the grid.
  point.global_batch = 2 * grid.extent(Axis::z) * grid.extent(Axis::data);
  return point;
}

// "crossbar" has a port for every channel, "crossbar-shared" one for all.
inline const Platform& crossbar(const std::string& name = "crossbar") {
  static const Platform own = read_platform("crossbar");
  static const Platform shared = read_platform("crossbar-shared");
  return name == "crossbar" ? own : shared;
}

inline std::string describe(const Point& point) {
  return to_json(point);
}

inline void expect_equal(const Outcome& estimated, const Outcome& simulated,
                         const std::string& what) {
  const double tolerance = 1e-6 * estimated.total.value;
  EXPECT_NEAR(estimated.total.value, simulated.total.value, tolerance) << what;
  EXPECT_NEAR(estimated.compute.value, simulated.compute.value, tolerance) << what;
  EXPECT_NEAR(estimated.bubble.value, simulated.bubble.value, tolerance) << what;
  ASSERT_EQ(estimated.channels, simulated.channels);
  for (std::size_t c = 0; c < estimated.channels.size(); ++c) {
    const std::string channel = name(estimated.channels[c]) + ' ' + what;
    EXPECT_NEAR(estimated.exposed[c].value, simulated.exposed[c].value, tolerance) << channel;
    EXPECT_NEAR(estimated.busy[c].value, simulated.busy[c].value, tolerance) << channel;
  }
}

}  // namespace fourfold::tests
