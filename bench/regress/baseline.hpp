// A baseline: the references that a machine is held to, with where they come from, as a JSON file
// that people may edit.
#pragma once

#include <string>
#include <vector>

#include "bench/regress/metric.hpp"
#include "scaling/records/provenance.hpp"

namespace fourfold::inline bench::inline regress {

struct BaselineMetric {
  std::string name;
  Scale scale = Scale::absolute;
  Reference reference;
  double judged = 0.0;  // the value on its scale
  Sample samples;       // by round, on its scale
};

struct Baseline {
  Provenance provenance;
  std::string libraries;  // blas_report()
  std::int64_t ranks = 1;
  double fma_peak = 0.0;  // Gflop/s of all ranks
  std::vector<BaselineMetric> metrics;
};

// Of several runs of one machine: of each quantity the middle one, and as far below as noise
// explains.
Baseline baseline_of(const std::vector<MachineRun>& runs);

// How far below its reference a quantity may lie that moved by such a share from run to run:
// -0.06 to -0.075 on the scale of our own product, so that 10 % are seen; -0.15 to -0.6 for others,
// whose neighbours share memory and caches.
double lower_bound(Scale scale, double spread);

std::string to_json(const Baseline& baseline);
// Throws std::runtime_error with a sentence that begins with `where`.
Baseline baseline_from_json(const std::string& text, const std::string& where);

}  // namespace fourfold::inline bench::inline regress
