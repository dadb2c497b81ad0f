// How far a person lets quantities fall, in place of a baseline's own bounds: "5%" for all, "memory
// triad=10%" for those whose names begin so.
#pragma once

#include <string>
#include <vector>

#include "bench/regress/baseline.hpp"

namespace fourfold::inline bench::inline regress {

// Of all, quantities keep a bound that is wider where what nobody here sees decides (traffic):
// there unchanged runs differ by as much. Returns their names. Throws std::runtime_error with a
// sentence: no percentage, or no such quantity.
std::vector<std::string> allow(const std::vector<std::string>& words, Baseline& baseline);

}  // namespace fourfold::inline bench::inline regress
