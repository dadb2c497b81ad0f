// Sums of scattered numbers, as many at a time as the processor has lanes; see
// checkpoint_checksum.hpp.
#include "engine/train/checkpoint/checkpoint_checksum.hpp"

#include <algorithm>
#include <bit>

#include "engine/vector_widths.hpp"
#include "support/random.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

FOURFOLD_CLONES std::uint64_t sum_of(const float* values, std::int64_t count, std::int64_t first) {
  constexpr std::uint64_t stride = 0xd1342543de82ef95U;  // odd, so that places differ
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t place = static_cast<std::uint64_t>(first + i) * stride;
    sum += scattered(place + std::bit_cast<std::uint32_t>(values[i]));
  }
  return sum;
}

}  // namespace

std::uint64_t checksum(std::span<const float> values, std::int64_t first) {
  return sum_of(values.data(), std::ssize(values), first);
}

void add_checksums(const std::vector<SavedMatrix>& matrices, std::int64_t first,
                   std::span<const float> values, std::vector<std::uint64_t>& sums) {
  const std::int64_t end = first + std::ssize(values);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const std::int64_t from = std::max(first, matrices[i].first);
    const std::int64_t to = std::min(end, matrices[i].first + matrices[i].elements());
    if (from >= to) continue;
    sums[i] += checksum(
        values.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from)),
        from - matrices[i].first);
  }
}

std::uint64_t checksum(const std::string& text) {
  std::uint64_t sum = text.size();
  for (const char c : text) sum = scattered(sum ^ static_cast<unsigned char>(c));
  return sum;
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
