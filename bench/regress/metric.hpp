// What a machine is held to: metrics as they were measured, and the references of a baseline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure/sample.hpp"

namespace fourfold::inline bench::inline regress {

// How a quantity is judged.
enum class Scale : std::uint8_t {
  own_product,  // beside the OwnProduct right before and after it, as a ratio of flop/s
  absolute,     // as it is
  traffic,      // the same where what nobody here sees decides, too: pages of a process between
                // ranks, and neighbours on the host for the memory of a virtual machine
  exact,        // bit by bit: it is computed, not measured
};
const char* name(Scale scale);
Scale scale_named(const std::string& text);  // throws std::invalid_argument

// Larger is better.
struct Metric {
  std::string name;  // "product NN 256 x 256 x 256, oneDNN"
  std::string unit;  // "Gflop/s"
  Scale scale = Scale::absolute;
  double value = 0.0;   // the median of the rounds, of all ranks together
  double judged = 0.0;  // the same on its scale: a ratio to our own product, or the value
  Sample samples;       // by round, on its scale
};

// As ReFrame has it: a value, how far a run may lie below and above it as shares (-0.05, 0.05), and
// the unit.
struct Reference {
  double value = 0.0;
  double lower = 0.0, upper = 0.0;
  std::string unit;
};

// What each rank reached, for looking at ranks and nodes one by one.
struct RankRates {
  std::int64_t rank = 0;
  std::string node;
  std::vector<double> rates;       // by name in `MachineRun::of_ranks`
  std::vector<double> beside_own;  // over our own product's; the rate itself where there was none
};

struct MachineRun {
  double fma_peak = 0.0;  // Gflop/s of all ranks together
  std::vector<Metric> metrics;
  std::vector<std::string> of_ranks;  // what RankRates lists
  std::vector<RankRates> ranks;
  bool held_off = false;       // others were kept off the cores while it was measured (Shield)
  double foreign_cores = 0.0;  // that others kept busy meanwhile, on the busiest node
  double stolen_cores = 0.0;   // that a hypervisor gave to others: nobody here can hold these off

  // Cores that the ranks had to share: those held off in rounds still fill caches between them.
  double lost_cores() const { return foreign_cores + stolen_cores; }
};

}  // namespace fourfold::inline bench::inline regress
