// The divisors of a number: every way to share something out evenly.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold::inline support {

// Of a number of at least 1, ascending.
std::vector<std::int64_t> divisors(std::int64_t number);

}  // namespace fourfold::inline support
