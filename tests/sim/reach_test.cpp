// How far waits reach back, counted again by writing programs out.
#include "sim/cost/reach.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/sim/programs.hpp"

namespace fourfold::tests {
namespace {

using Counts = std::vector<std::int64_t>;

// By numbering every repetition of the program written out.
Reach counted(const TimedProgram& p) {
  struct Place {
    std::size_t cycle = 0, run = 0;
    std::int64_t turn = 0, repetition = 0;
  };
  Reach reach{Counts(p.runs.size(), 0), Counts(p.cycles.size(), 0)};
  std::vector<std::vector<Place>> posts(p.channels.size());
  const auto note = [](std::int64_t& most, std::int64_t one) { most = std::max(most, one); };
  const auto look_back = [&](const Place& here, std::vector<Place>& posted, std::int32_t back) {
    if (back >= static_cast<std::int32_t>(posted.size())) return;
    // All posts since are passed, as are the loops that hold them.
    for (std::int32_t b = 0; b <= back; ++b) {
      const Place& there = posted[posted.size() - 1 - static_cast<std::size_t>(b)];
      const bool same_cycle = there.cycle == here.cycle;
      const std::int64_t turns = same_cycle ? here.turn : p.cycles[there.cycle].repeats;
      note(reach.cycles[there.cycle], turns - there.turn);
      const bool inside = same_cycle && there.run == here.run && there.turn == here.turn;
      const std::int64_t end = inside ? here.repetition : p.runs[there.run].repeats;
      note(reach.runs[there.run], end - there.repetition);
    }
  };
  for (std::size_t c = 0; c < p.cycles.size(); ++c) {
    for (std::int64_t turn = 0; turn < p.cycles[c].repeats; ++turn) {
      for (auto r = static_cast<std::size_t>(p.cycles[c].first);
           r < static_cast<std::size_t>(p.cycles[c].last); ++r) {
        for (std::int64_t i = 0; i < p.runs[r].repeats; ++i) {
          const Place here{c, r, turn, i};
          for (std::int32_t s = p.runs[r].first; s < p.runs[r].last; ++s) {
            const TimedStep& step = p.steps[static_cast<std::size_t>(s)];
            auto& posted = posts[static_cast<std::size_t>(step.channel)];
            if (step.kind == StepKind::post) posted.push_back(here);
            if (step.kind == StepKind::wait) look_back(here, posted, step.back);
          }
        }
      }
    }
  }
  return reach;
}

TEST(Reach, IsThatOfTheProgramWrittenOut) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const TimedProgram p = random_program(random, 1 + i % 25);

    const Reach reach = reach_of(p);
    const Reach exact = counted(p);

    SCOPED_TRACE("program " + std::to_string(i));
    EXPECT_EQ(reach.runs, exact.runs);
    EXPECT_EQ(reach.cycles, exact.cycles);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace fourfold::tests
