// Sums segments by weight; compares neighbouring repetitions.
#include "sim/replay/extrapolation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "sim/cost/reach.hpp"

namespace fourfold {

namespace {

constexpr std::int64_t first_run_repetitions = 3;  // one to warm up, two to compare
constexpr std::int64_t first_cycle_repetitions = 2;
constexpr std::int64_t compared = 2;
// Stages that are faster than others run ahead of them while the pipeline fills, and settle only
// when their queues are empty: what changes slowly still changes a lot in many rounds.
constexpr double round_tolerance = 1e-6;

// No fewer than waits reach back to, or they would name other posts. Where that is more than the
// first ones, so many come before all waits of a repetition find their posts in the loop itself,
// and only from then on can two be alike.
std::int64_t to_walk(std::int64_t repeats, std::int64_t reach, std::int64_t first) {
  return std::min(repeats, reach > first ? reach + compared : first);
}

// Of a program of several stages: by stage the cycles that are cut, each beside those of the other
// stages that it meets. They are worth it if half of them can be left out, and what repeats while
// the pipeline fills is shorter.
std::vector<std::vector<std::size_t>> long_cycles(const TimedProgram& program, std::int64_t least) {
  std::vector<std::vector<std::size_t>> cycles;
  for (const StageCycles& stage : program.by_stage()) {
    cycles.emplace_back();
    for (std::int32_t c = stage.first; c < stage.last; ++c) {
      const auto cycle = static_cast<std::size_t>(c);
      if (program.cycles[cycle].repeats >= 2 * least) cycles.back().push_back(cycle);
    }
  }
  return cycles;
}

// By channel: what one repetition of a cycle posts.
std::vector<std::int64_t> posts_of(const TimedProgram& program, std::size_t cycle) {
  std::vector<std::int64_t> posts(program.channels.size(), 0);
  for (std::int32_t r = program.cycles[cycle].first; r < program.cycles[cycle].last; ++r) {
    const StepRun& run = program.runs[static_cast<std::size_t>(r)];
    for (std::int32_t s = run.first; s < run.last; ++s) {
      const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
      if (step.kind == StepKind::post) posts[static_cast<std::size_t>(step.channel)] += run.repeats;
    }
  }
  return posts;
}

// Whether one repetition of each of these cycles, one a stage, is a round of the pipeline: what one
// posts on a channel that joins stages its partners post, too.
bool meet(const TimedProgram& program, const std::vector<std::size_t>& cycles) {
  std::vector<std::vector<std::int64_t>> posts;
  for (std::size_t cycle : cycles) posts.push_back(posts_of(program, cycle));
  const auto stages = static_cast<std::int64_t>(cycles.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    if (program.channels[c].axis != Axis::pipe) continue;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      for (std::int64_t member : group(program.channels[c], stages, stage)) {
        if (posts[static_cast<std::size_t>(member)][c] !=
            posts[static_cast<std::size_t>(stage)][c]) {
          return false;
        }
      }
    }
  }
  return true;
}

// All repetitions but those that can be left out if the stage with the fewest keeps `least`.
Repetitions cut_alike(const TimedProgram& program, std::int64_t least) {
  Repetitions repetitions = Repetitions::full(program);
  const std::vector<std::vector<std::size_t>> cycles = long_cycles(program, least);
  for (std::size_t k = 0; k < cycles.front().size(); ++k) {
    std::vector<std::size_t> beside;
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (const std::vector<std::size_t>& stage : cycles) {
      if (stage.size() != cycles.front().size()) return Repetitions::full(program);
      beside.push_back(stage[k]);
      fewest = std::min(fewest, program.cycles[stage[k]].repeats);
    }
    if (!meet(program, beside)) return Repetitions::full(program);
    for (std::size_t cycle : beside) repetitions.cycles[cycle] -= fewest - least;
  }
  return repetitions;
}

// The fewest that a cut cycle keeps; 0 if none is cut.
std::int64_t fewest_kept(const TimedProgram& program, const Repetitions& repetitions) {
  std::int64_t fewest = 0;
  for (std::size_t c = 0; c < program.cycles.size(); ++c) {
    const std::int64_t kept = repetitions.cycles[c];
    if (kept < program.cycles[c].repeats && (fewest == 0 || kept < fewest)) fewest = kept;
  }
  return fewest;
}

// One repetition of a loop, as far as repetitions are compared. With cut loops inside, `mean` and
// `last` are already extended.
struct Repetition {
  double mean = 0.0;  // seconds, mean over ranks
  double last = 0.0;  // seconds by which the last rank's end moves
  struct OfChannel {
    double exposed = 0.0;
    std::optional<double> lag;  // the channel's end behind the mean rank's
  };
  std::vector<OfChannel> channels;
};

// Charges for interference depend on earlier ones, so compute settles geometrically, not at once.
constexpr double compute_tolerance = 1e-6;

// The times of a machine whose collectives take no time.
std::vector<SegmentTimes> compute_alone(const IssueStream& stream) {
  std::vector<SegmentTimes> times;
  double now = 0.0;
  for (const Segment& segment : stream.segments) {
    now += segment.compute.value;
    times.emplace_back();
    times.back().end = now;
    times.back().last_end = now;
    times.back().channels.resize(stream.posts.size());
  }
  return times;
}

double relative_change(const Repetition& before, const Repetition& after) {
  double change = std::max(std::abs(after.mean - before.mean), std::abs(after.last - before.last));
  for (std::size_t c = 0; c < before.channels.size(); ++c) {
    const Repetition::OfChannel& was = before.channels[c];
    const Repetition::OfChannel& is = after.channels[c];
    change = std::max(change, std::abs(is.exposed - was.exposed));
    if (was.lag && is.lag) change = std::max(change, std::abs(*is.lag - *was.lag));
  }
  return change == 0.0 ? 0.0 : change / after.mean;
}

void add_segment(Repetition& repetition, const SegmentTimes& times, const SegmentTimes& before,
                 double weight) {
  repetition.mean += weight * (times.end - before.end);
  repetition.last += weight * (times.last_end - before.last_end);
  repetition.channels.resize(times.channels.size());
  for (std::size_t c = 0; c < times.channels.size(); ++c) {
    Repetition::OfChannel& channel = repetition.channels[c];
    channel.exposed += weight * times.channels[c].exposed;
    if (times.channels[c].end > 0.0) channel.lag = times.channels[c].end - times.end;
  }
}

// Compares the last two of the repetitions that were added.
class Comparison {
 public:
  void begin_repetition() {
    before_ = current_;
    current_ = Repetition{};
    ++count_;
  }
  void add(const SegmentTimes& times, const SegmentTimes& before, double weight) {
    add_segment(current_, times, before, weight);
  }
  double seconds() const { return current_.mean; }
  // Infinite if there is nothing to compare with.
  double change() const {
    return count_ < 2 ? std::numeric_limits<double>::infinity()
                      : relative_change(before_, current_);
  }

 private:
  Repetition before_;
  Repetition current_;
  int count_ = 0;
};

}  // namespace

double Disagreement::largest() const {
  double largest = 0.0;
  for (double one : runs) largest = std::max(largest, one);
  for (double one : cycles) largest = std::max(largest, one);
  return largest;
}

namespace {

// Returns how long the repetition of each cut cycle takes that stands for others.
std::vector<std::pair<std::int32_t, double>> compare(const IssueStream& stream,
                                                     const std::vector<SegmentTimes>& times,
                                                     Disagreement& found) {
  std::vector<std::pair<std::int32_t, double>> periods;
  Comparison in_run;
  Comparison in_cycle;
  const SegmentTimes start;
  for (std::size_t s = 0; s < times.size(); ++s) {
    const Segment& segment = stream.segments[s];
    const SegmentTimes& before = s == 0 ? start : times[s - 1];
    const bool same_cycle = s > 0 && stream.segments[s - 1].cycle == segment.cycle;
    const bool same_turn =
        same_cycle && stream.segments[s - 1].cycle_repetition == segment.cycle_repetition;
    if (!same_cycle) in_cycle = Comparison{};
    if (!same_turn) in_cycle.begin_repetition();
    in_cycle.add(times[s], before, segment.run_weight);
    if (!same_turn || stream.segments[s - 1].run != segment.run) in_run = Comparison{};
    in_run.begin_repetition();
    in_run.add(times[s], before, 1.0);
    if (segment.run_weight > 1.0) {
      found.runs[segment.run] = std::max(found.runs[segment.run], in_run.change());
    }
    if (segment.weight <= segment.run_weight) continue;
    found.cycles[segment.cycle] = in_cycle.change();
    if (periods.empty() || periods.back().first != segment.cycle) {
      periods.emplace_back(segment.cycle, 0.0);
    }
    periods.back().second = in_cycle.seconds();
  }
  return periods;
}

// In steady state a round of the pipeline takes all stages equally long.
void compare_stages(const std::vector<std::vector<std::pair<std::int32_t, double>>>& periods,
                    Disagreement& found) {
  for (const auto& stage : periods) {
    for (std::size_t k = 0; k < stage.size(); ++k) {
      const double first = periods.front()[k].second;
      const double apart = std::abs(stage[k].second - first);
      double& change = found.cycles[static_cast<std::size_t>(stage[k].first)];
      if (apart > 0.0) change = std::max(change, apart / first);
    }
  }
}

Outcome extended(const std::vector<Channel>& channels, const IssueStream& stream,
                 const std::vector<SegmentTimes>& times) {
  Outcome outcome(channels);
  bool cut = false;
  for (std::size_t s = 0; s < times.size(); ++s) {
    const double weight = stream.segments[s].weight;
    cut = cut || weight != 1.0;
    const double before = s == 0 ? 0.0 : times[s - 1].last_end;
    outcome.total += Seconds{weight * (times[s].last_end - before)};
    outcome.compute += Seconds{weight * times[s].compute};
    outcome.bubble += Seconds{weight * times[s].bubble};
    for (std::size_t c = 0; c < times[s].channels.size(); ++c) {
      outcome.exposed[c] += Seconds{weight * times[s].channels[c].exposed};
      outcome.busy[c] += Seconds{weight * times[s].channels[c].busy};
    }
  }
  if (!cut && !times.empty()) outcome.total = Seconds{times.back().last_end};
  return outcome;
}

}  // namespace

Disagreement disagreement(const TimedProgram& program, const std::vector<IssueStream>& streams,
                          const std::vector<std::vector<SegmentTimes>>& times) {
  Disagreement found{std::vector<double>(program.runs.size(), 0.0),
                     std::vector<double>(program.cycles.size(), 0.0)};
  std::vector<std::vector<std::pair<std::int32_t, double>>> periods;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    periods.push_back(compare(streams[i], times[i], found));
  }
  compare_stages(periods, found);
  return found;
}

Outcome extend(const TimedProgram& program, const std::vector<IssueStream>& streams,
               const std::vector<std::vector<SegmentTimes>>& times) {
  std::vector<Outcome> stages;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    stages.push_back(extended(program.channels, streams[i], times[i]));
  }
  return mean(stages);
}

Repetitions first_repetitions(const TimedProgram& program, const ProcessGrid& grid) {
  refuse_unsound(program, grid);
  const Reach reach = reach_of(program);
  Repetitions repetitions = Repetitions::full(program);
  if (const auto stages = static_cast<std::int64_t>(program.by_stage().size()); stages > 1) {
    const std::int64_t reached = reach.cycles.empty() ? 0 : *std::ranges::max_element(reach.cycles);
    return cut_alike(program, std::max(stages + first_cycle_repetitions, reached + compared));
  }
  for (std::size_t r = 0; r < program.runs.size(); ++r) {
    repetitions.runs[r] = to_walk(repetitions.runs[r], reach.runs[r], first_run_repetitions);
  }
  for (std::size_t c = 0; c < program.cycles.size(); ++c) {
    repetitions.cycles[c] =
        to_walk(repetitions.cycles[c], reach.cycles[c], first_cycle_repetitions);
  }
  while (true) {
    const std::vector<IssueStream> streams = unroll(program, grid, repetitions);
    std::vector<std::vector<SegmentTimes>> times;
    for (const IssueStream& stream : streams) times.push_back(compute_alone(stream));
    const Disagreement found = disagreement(program, streams, times);
    const Repetitions more = more_repetitions(program, repetitions, found, compute_tolerance);
    if (more == repetitions) return repetitions;
    repetitions = more;
  }
}

Repetitions more_repetitions(const TimedProgram& program, Repetitions repetitions,
                             const Disagreement& found, double tolerance) {
  if (program.by_stage().size() > 1) {
    if (found.largest() <= std::min(tolerance, round_tolerance)) return repetitions;
    return cut_alike(program, 2 * fewest_kept(program, repetitions));
  }
  for (std::size_t r = 0; r < program.runs.size(); ++r) {
    if (found.runs[r] <= tolerance) continue;
    repetitions.runs[r] = std::min(2 * repetitions.runs[r], program.runs[r].repeats);
  }
  for (std::size_t c = 0; c < program.cycles.size(); ++c) {
    if (found.cycles[c] <= tolerance) continue;
    repetitions.cycles[c] = std::min(2 * repetitions.cycles[c], program.cycles[c].repeats);
  }
  return repetitions;
}

}  // namespace fourfold
