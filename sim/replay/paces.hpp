// Devices of several speeds: ranks of one pace walk one stream, in which kernels take as much
// longer as they are slow, and what they and collectives take of each other is charged anew.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/program/process_grid.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/replay/issue_stream.hpp"

namespace fourfold::inline sim::inline replay {

class Paces {
 public:
  // `factors`: by rank, on the seconds of kernels; none: 1 for all.
  Paces(const TimedProgram& program, const std::vector<double>& factors);

  // The first is the program as it was given.
  const std::vector<TimedProgram>& programs() const { return programs_; }
  std::size_t count() const { return programs_.size(); }
  std::size_t of(std::int64_t rank) const {
    return of_rank_.empty() ? 0 : of_rank_[static_cast<std::size_t>(rank)];
  }

 private:
  std::vector<TimedProgram> programs_;
  std::vector<std::uint32_t> of_rank_;  // none: all have the first
};

// By pace and stage; see unroll().
std::vector<std::vector<IssueStream>> unroll(const Paces& paces, const ProcessGrid& grid,
                                             const Repetitions& repetitions);

}  // namespace fourfold::inline sim::inline replay
