// What a timed rung found out about one training step: the seconds and where they went.
#pragma once

#include <array>
#include <cstdint>

#include "schedule/program/lane.hpp"
#include "support/quantity.hpp"

namespace fourfold {

// Times of one device (replay: the mean over devices), and total = the moment the last one ends.
// compute + sum of exposed = total on every device.
struct Outcome {
  Seconds total;
  Seconds compute;                            // with interference charges
  std::array<Seconds, lane_count> exposed{};  // waiting for a collective of the lane
  std::array<Seconds, lane_count> busy{};     // a collective of the lane in flight

  Seconds exposed_total() const {
    Seconds sum;
    for (Seconds lane : exposed) sum += lane;
    return sum;
  }
};

}  // namespace fourfold
