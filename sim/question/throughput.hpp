// Seconds of a step in the units in which people compare runs.
#pragma once

#include <string>

#include "sim/question/point.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline sim::inline question {

// Model flops of a step with what it repeats: those of Narayanan et al. (SC21, eq. 3) with full
// recompute counted; with selective recompute of unfused attention, the product of queries and keys
// and that of scores and values once more, 4 B s^2 l h.
Flops hardware_flops(const Model& model, std::int64_t sequences, const StepOptions& options,
                     std::int64_t stages = 1);

struct Throughput {
  // Shares of the advertised peak, see throughput_conventions.
  double mfu = 0.0, hfu = 0.0;
  double tokens_per_s = 0.0, tokens_per_s_per_device = 0.0;
  double days_per_trillion_tokens = 0.0, device_hours_per_trillion_tokens = 0.0;
};

// Of a step of the point that takes so long; `peak` is the advertised one of a device.
Throughput throughput(const Point& point, Seconds step, FlopsPerSecond peak);

// What MFU and HFU count, in words that stand below tables.
inline constexpr const char* throughput_conventions =
    "MFU: model flops without recompute (Narayanan et al. SC21 eq. 3) against the advertised peak; "
    "HFU: with those that recompute repeats.";

}  // namespace fourfold::inline sim::inline question
