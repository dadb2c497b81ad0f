// Checksums that no grid changes: a matrix's is the sum of one 64-bit number per element, made from
// the element's bits and its place, so that ranks can add up what they hold in any order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/train/checkpoint/safetensors.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// Of elements that stand at `first` and after in their matrix. Modulo 2^64. Another value at a
// place always gives another sum, and several changes cancel out with a chance of 2^-64.
std::uint64_t checksum(std::span<const float> values, std::int64_t first);

// Adds the checksums of elements of the data from `first` to those of their matrices.
void add_checksums(const std::vector<SavedMatrix>& matrices, std::int64_t first,
                   std::span<const float> values, std::vector<std::uint64_t>& sums);

// Of heads and JSON.
std::uint64_t checksum(const std::string& text);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
