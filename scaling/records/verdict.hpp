// When enough grids have been simulated: candidates are simulated in the order of their estimates
// until the next estimate cannot win by the disagreement seen so far.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace fourfold::inline scaling::inline records {

struct StoppingRule {
  std::int64_t at_least = 3;  // simulated before the disagreement is believed
  std::int64_t at_most = 8;   // simulated however close the rest is
  // The next candidate is given the benefit of a ratio this much below the least one seen, because
  // few ratios were seen: 0.01 = 1 %.
  double margin = 0.01;
  // A simulation that takes more work, as FlowNetwork::Counts counts it, is given up and its grid
  // left out; it counts as tried. The same on every machine: 60 to 90 s of CPU on an EPYC of 2024.
  std::int64_t work_limit = 2'500'000'000;
};

enum class Verdict : std::uint8_t {
  go_on,      // the next candidate may still win
  settled,    // next estimate x least ratio seen x (1 - margin) >= best simulated
  exhausted,  // every candidate was simulated
  capped,     // the rule's at_most was reached with the next candidate still able to win
};
const char* name(Verdict verdict);

// `estimated`: seconds of all candidates, ascending; `simulated`: those of the first few of them,
// absent where the simulation was given up.
// Example: estimated 10, 11, 12, 14 and simulated 11, 12.65, 13.2: ratios 1.1, 1.15, 1.1, so the
// fourth would take at least 14 x 1.1 x 0.99 = 15.2 s and cannot beat 11 s: settled.
Verdict judge(const std::vector<double>& estimated,
              const std::vector<std::optional<double>>& simulated, const StoppingRule& rule);

}  // namespace fourfold::inline scaling::inline records
