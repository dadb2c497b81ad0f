// Which blocks of a matrix are marked, and for which member of an exchange, as pure functions: of
// an all-to-all that moves no others. What a member sends another, and what that one receives,
// stand in the same order: row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fourfold::inline engine::inline plan {

// A matrix of marks over a local block, cut into equal parts for the members: along its rows, or
// along its columns.
struct Marks {
  std::span<const std::int32_t> values;  // row by row; 0: not marked
  std::int64_t cols = 1;
  std::int64_t members = 1;
  bool by_rows = true;
};

// Numbers of the marked ones, by member.
// Example: marks 1 0 / 1 1 for two members by rows are {0} and {2, 3}; by columns {0, 2} and {3}.
inline std::vector<std::vector<std::int64_t>> marked_blocks(const Marks& marks) {
  std::vector<std::vector<std::int64_t>> blocks(static_cast<std::size_t>(marks.members));
  const auto count = static_cast<std::int64_t>(marks.values.size());
  for (std::int64_t i = 0; i < count; ++i) {
    if (marks.values[static_cast<std::size_t>(i)] == 0) continue;
    const std::int64_t member =
        marks.by_rows ? i * marks.members / count : i % marks.cols * marks.members / marks.cols;
    blocks[static_cast<std::size_t>(member)].push_back(i);
  }
  return blocks;
}

}  // namespace fourfold::inline engine::inline plan
