// From a few repetitions of a loop to all of them: checks that the repetitions have become alike,
// and extends what they cost. Without cut loops it only adds up.
#pragma once

#include <vector>

#include "sim/question/outcome.hpp"
#include "sim/replay/issue_stream.hpp"
#include "sim/replay/ranks.hpp"

namespace fourfold::inline sim::inline replay {

// How far the last two repetitions of a cut loop are from being alike, relative to one repetition:
// in the time they take, in what is exposed, and in how far each channel lags behind its ranks, as
// a growing backlog would hold the ranks up later, and one that a loop works off would do so only
// where too few repetitions were walked. Zero for loops that are not cut.
struct Disagreement {
  std::vector<double> runs;
  std::vector<double> cycles;
  // By how much the last rank of a cut loop falls behind the mean one in each repetition: they will
  // wait for it, as long as all repetitions together say.
  double drift = 0.0;

  double largest() const;
};

// `streams` and `times`: by stage.
Disagreement disagreement(const TimedProgram& program, const std::vector<IssueStream>& streams,
                          const std::vector<std::vector<SegmentTimes>>& times);

// The outcome of the whole program. compute + sum of exposed is the mean over ranks of their end;
// total is the end of the last one.
Outcome extend(const TimedProgram& program, const std::vector<IssueStream>& streams,
               const std::vector<std::vector<SegmentTimes>>& times);

// As few repetitions of each loop as may be alike: two to compare, one to warm up, and more where
// waits reach farther back or where the compute time of a repetition, which needs no simulation,
// still changes.
//
// All of them if there are several stages: those that are faster run ahead while the pipeline
// fills, and what they gained travels from stage to stage, so that the rounds of one are alike only
// many rounds apart, if ever.
Repetitions first_repetitions(const TimedProgram& program, const ProcessGrid& grid);

// Twice as many repetitions of the loops that disagree by more than `tolerance`; all of all loops
// if ranks drift apart by more than that. Returns `repetitions` unchanged if nothing disagrees.
Repetitions more_repetitions(const TimedProgram& program, Repetitions repetitions,
                             const Disagreement& found, double tolerance);

}  // namespace fourfold::inline sim::inline replay
