// How far the waits of a timed program reach back into its loops: what a loop that is cut short
// must keep, or a wait would name another post than it does in the whole program.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline cost {

// Repetitions, by index of run and of cycle: the most that any wait reaches back. From inside the
// loop, 1 is the repetition before the wait's own; from behind it, 1 is the last one. A wait whose
// post lies before the loop reaches back to its first repetition.
struct Reach {
  std::vector<std::int64_t> runs;
  std::vector<std::int64_t> cycles;
};

// The program must be sound but for waits without a post, which reach back to its beginning.
Reach reach_of(const TimedProgram& program);

}  // namespace fourfold::inline sim::inline cost
