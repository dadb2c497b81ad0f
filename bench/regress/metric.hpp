// What a machine is held to: metrics as they were measured, and the references of a baseline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure/sample.hpp"

namespace fourfold {

// How a quantity is judged.
enum class Scale : std::uint8_t {
  fma_peak,  // as a share of the FMA peak that the same run measured in turn with it
  absolute,  // as it is
  exact,     // bit by bit: it is computed, not measured
};
const char* name(Scale scale);
Scale scale_named(const std::string& text);  // throws std::invalid_argument

// Larger is better.
struct Metric {
  std::string name;  // "product NN 512 x 512 x 512, oneDNN"
  std::string unit;  // "Gflop/s"
  Scale scale = Scale::absolute;
  double value = 0.0;   // the best, of all ranks together
  double judged = 0.0;  // the same on its scale: a share of the peak, or the value
  Sample samples;       // by round, on its scale
};

// As ReFrame has it: a value, how far a run may lie below and above it as shares (-0.05, 0.05), and
// the unit.
struct Reference {
  double value = 0.0;
  double lower = 0.0, upper = 0.0;
  std::string unit;
};

// The best that each rank reached, for looking at ranks and nodes one by one.
struct RankRates {
  std::int64_t rank = 0;
  std::string node;
  std::vector<double> rates;  // by name in `MachineRun::of_ranks`
};

struct MachineRun {
  double fma_peak = 0.0;  // Gflop/s of all ranks together
  std::vector<Metric> metrics;
  std::vector<std::string> of_ranks;  // what RankRates lists
  std::vector<RankRates> ranks;
};

}  // namespace fourfold
