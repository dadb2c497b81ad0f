// Nouns that agree with their number.
#pragma once

#include <cstdint>
#include <string>

namespace fourfold {

// "1 grid", "2 grids", "3 micro-batches": regular nouns only.
std::string counted(std::int64_t number, const std::string& noun);

}  // namespace fourfold
