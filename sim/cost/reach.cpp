// Follows each wait back over the posts of its channel, loop by loop; see reach.hpp.
#include "sim/cost/reach.hpp"

#include <algorithm>

namespace fourfold::inline sim::inline cost {

namespace {

std::int64_t quotient_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

class ReachOfWaits {
 public:
  explicit ReachOfWaits(const TimedProgram& program)
      : p_(program), posts_of_run_(program.runs.size()), history_(program.channels.size()) {
    reach_.runs.resize(p_.runs.size(), 0);
    reach_.cycles.resize(p_.cycles.size(), 0);
    for (std::size_t r = 0; r < p_.runs.size(); ++r) {
      posts_of_run_[r].resize(p_.channels.size(), 0);
      for (std::int32_t s = p_.runs[r].first; s < p_.runs[r].last; ++s) {
        const TimedStep& step = p_.steps[static_cast<std::size_t>(s)];
        if (step.kind == StepKind::post) ++posts_of_run_[r][channel_of(step)];
      }
    }
  }

  Reach run() {
    for (std::size_t c = 0; c < p_.cycles.size(); ++c) {
      turns_.push_back(turns_that_matter(c));
      for (std::int64_t turn = 0; turn < turns_[c]; ++turn) walk_turn(c, turn);
    }
    return std::move(reach_);
  }

 private:
  // All repetitions of a run in one turn of its cycle that post on a channel.
  struct Block {
    std::size_t run = 0;
    std::size_t cycle = 0;
    std::int64_t turn = 0;   // among those looked at
    std::int64_t posts = 0;  // in one repetition
    std::int64_t repeats = 1;
  };

  static std::size_t channel_of(const TimedStep& step) {
    return static_cast<std::size_t>(step.channel);
  }

  // After so many turns no wait reaches beyond them: all that follow are like the last.
  std::int64_t turns_that_matter(std::size_t cycle) const {
    std::int64_t turns = 1;
    for (std::size_t channel = 0; channel < p_.channels.size(); ++channel) {
      std::int64_t posts = 0;
      for (std::int32_t r = p_.cycles[cycle].first; r < p_.cycles[cycle].last; ++r) {
        const auto run = static_cast<std::size_t>(r);
        posts += posts_of_run_[run][channel] * p_.runs[run].repeats;
      }
      if (posts == 0) continue;
      turns = std::max(turns, quotient_up(std::int64_t{p_.max_back} + 1, posts) + 2);
    }
    return std::min(turns, p_.cycles[cycle].repeats);
  }

  void walk_turn(std::size_t cycle, std::int64_t turn) {
    for (std::int32_t r = p_.cycles[cycle].first; r < p_.cycles[cycle].last; ++r) {
      const auto run = static_cast<std::size_t>(r);
      std::vector<std::int64_t> posted(p_.channels.size(), 0);  // in the run's first repetition
      for (std::int32_t s = p_.runs[run].first; s < p_.runs[run].last; ++s) {
        const TimedStep& step = p_.steps[static_cast<std::size_t>(s)];
        if (step.kind == StepKind::post) ++posted[channel_of(step)];
        if (step.kind != StepKind::wait) continue;
        const std::int64_t before = std::int64_t{step.back} + 1 - posted[channel_of(step)];
        if (before > 0) follow(channel_of(step), before, {run, cycle, turn});
      }
      for (std::size_t channel = 0; channel < history_.size(); ++channel) {
        const std::int64_t posts = posts_of_run_[run][channel];
        if (posts == 0) continue;
        history_[channel].push_back({run, cycle, turn, posts, p_.runs[run].repeats});
      }
    }
  }

  // From the `before`-th most recent post before this repetition of the run `from`. Of all
  // repetitions the first one reaches farthest beyond the run, and later ones into the run itself.
  void follow(std::size_t channel, std::int64_t before, const Block& from) {
    const std::int64_t own = posts_of_run_[from.run][channel];
    if (own > 0) {
      note(reach_.runs[from.run], quotient_up(before, own), p_.runs[from.run].repeats - 1);
    }
    const std::vector<Block>& blocks = history_[channel];
    for (auto block = blocks.rbegin(); block != blocks.rend() && before > 0; ++block) {
      note(reach_.runs[block->run], quotient_up(before, block->posts), block->repeats);
      const std::int64_t end = block->cycle == from.cycle ? from.turn : turns_[block->cycle];
      note(reach_.cycles[block->cycle], end - block->turn, p_.cycles[block->cycle].repeats);
      before -= block->posts * block->repeats;
    }
  }

  static void note(std::int64_t& most, std::int64_t repetitions, std::int64_t of) {
    most = std::max(most, std::min(repetitions, of));
  }

  const TimedProgram& p_;
  std::vector<std::vector<std::int64_t>> posts_of_run_;  // and by channel, in one repetition
  std::vector<std::vector<Block>> history_;              // by channel
  std::vector<std::int64_t> turns_;                      // looked at, by cycle
  Reach reach_;
};

}  // namespace

Reach reach_of(const TimedProgram& program) {
  return ReachOfWaits(program).run();
}

}  // namespace fourfold::inline sim::inline cost
