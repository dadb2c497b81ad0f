// Points for the tests that compare rungs: real models on real grids, with every option that
// changes the order of communication.
#pragma once

#include <string>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/question/point.hpp"

namespace fourfold::tests {

inline Model short_model() {
  return {"gpt-short", 6, 3840, 120, 2048, 51'200};
}

inline Point point_on(const std::string& platform, const Model& model, const ProcessGrid& grid) {
  Point point;
  point.platform = platform;
  point.model = model;
  point.grid = grid;
  // Two sequences for every rank along z and data, whatever the grid.
  point.global_batch = 2 * grid.extent(Axis::z) * grid.extent(Axis::data);
  return point;
}

// The step as published, and with each option turned the other way.
inline std::vector<StepOptions> option_sets() {
  std::vector<StepOptions> sets(1);
  sets.emplace_back().micro_batches = 2;
  sets.emplace_back().recompute = Recompute::none;
  sets.emplace_back().overlap = {false, false, false, false};
  sets.emplace_back().overlap.all_gather = false;
  sets.emplace_back().overlap.reduce_scatter = false;
  sets.emplace_back().overlap.all_reduce = false;
  sets.emplace_back().in_flight_blocks = 1;
  sets.emplace_back().data_reduction = DataReduction::beside_backward;
  StepOptions& unfused = sets.emplace_back();
  unfused.attention = AttentionKernel::unfused;
  unfused.recompute = Recompute::selective;
  StepOptions& in_buckets = sets.emplace_back();
  in_buckets.data_bucket = 4 * 12 * std::int64_t{3840} * 3840;
  in_buckets.data_reduction = DataReduction::beside_backward;
  for (std::int64_t zero : {1, 2}) {
    StepOptions& cut = sets.emplace_back(in_buckets);
    cut.zero = zero;
    cut.micro_batches = 2;
  }
  StepOptions& sparing = sets.emplace_back();
  sparing.micro_batches = 2;
  sparing.weight_gather = WeightGather::keep;
  sparing.gradient_reduction = GradientReduction::accumulated;
  return sets;
}

inline std::string describe(const Point& point) {
  return to_json(point);
}

}  // namespace fourfold::tests
