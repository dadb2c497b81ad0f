// A step as it ran, as a Chrome/Perfetto trace like the simulator's: a process for each rank; its
// threads are compute and the channels of its stage's program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct TracedRank {
  std::int64_t rank = 0;
  std::vector<OpSpan> spans;  // of ExecutedStep
};

// A trace has about so many spans at most; with more, only some of the ranks are written.
inline constexpr std::int64_t most_spans = 150'000;

// Ranks to write, evenly spread, if each has so many spans: always 0, and as many as there is room
// for.
std::vector<std::int64_t> traced_ranks(std::int64_t ranks, std::int64_t spans_each);

// `programs` are those of the stages, in order.
std::string trace_json(const std::vector<Program>& programs, const ProcessGrid& grid,
                       const std::vector<TracedRank>& ranks, const std::string& title);

}  // namespace fourfold::inline engine::inline train::inline run
