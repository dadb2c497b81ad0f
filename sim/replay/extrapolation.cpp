// Sums segments by weight; compares neighbouring repetitions.
#include "sim/replay/extrapolation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/cost/reach.hpp"

namespace fourfold::inline sim::inline replay {

namespace {

constexpr std::int64_t first_run_repetitions = 3;  // one to warm up, two to compare
constexpr std::int64_t first_cycle_repetitions = 2;
constexpr std::int64_t compared = 2;

// No fewer than waits reach back to, or they would name other posts. Where that is more than the
// first ones, so many come before all waits of a repetition find their posts in the loop itself,
// and only from then on can two be alike.
std::int64_t to_walk(std::int64_t repeats, std::int64_t reach, std::int64_t first) {
  return std::min(repeats, reach > first ? reach + compared : first);
}

// One repetition of a loop, as far as repetitions are compared. With cut loops inside, `mean` and
// `last` are already extended.
struct Repetition {
  double mean = 0.0;  // seconds, mean over ranks
  double last = 0.0;  // seconds by which the last rank's end moves
  struct OfChannel {
    double exposed = 0.0;
    std::optional<double> lag;  // the channel's end behind the mean rank's, where it has posted
    double backlog = 0.0;       // what it still has to do then, whoever posted it
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
    change = std::max(change, std::abs(is.backlog - was.backlog));
  }
  return change == 0.0 ? 0.0 : change / after.mean;
}

// `ends`: by channel, when all of its posts so far are done.
void add_segment(Repetition& repetition, const SegmentTimes& times, const SegmentTimes& before,
                 const std::vector<double>& ends, double weight) {
  repetition.mean += weight * (times.end - before.end);
  repetition.last += weight * (times.last_end - before.last_end);
  repetition.channels.resize(times.channels.size());
  for (std::size_t c = 0; c < times.channels.size(); ++c) {
    Repetition::OfChannel& channel = repetition.channels[c];
    channel.exposed += weight * times.channels[c].exposed;
    if (times.channels[c].end > 0.0) channel.lag = times.channels[c].end - times.end;
    channel.backlog = std::max(0.0, ends[c] - times.end);
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
  void add(const SegmentTimes& times, const SegmentTimes& before, const std::vector<double>& ends,
           double weight) {
    add_segment(current_, times, before, ends, weight);
  }
  double drift() const {
    return current_.last == current_.mean ? 0.0
                                          : std::abs(current_.last - current_.mean) / current_.mean;
  }
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
  double largest = drift;
  for (double one : runs) largest = std::max(largest, one);
  for (double one : cycles) largest = std::max(largest, one);
  return largest;
}

namespace {

void compare(const IssueStream& stream, const std::vector<SegmentTimes>& times,
             Disagreement& found) {
  Comparison in_run;
  Comparison in_cycle;
  const SegmentTimes start;
  std::vector<double> ends(stream.posts.size(), 0.0);
  for (std::size_t s = 0; s < times.size(); ++s) {
    const Segment& segment = stream.segments[s];
    const SegmentTimes& before = s == 0 ? start : times[s - 1];
    for (std::size_t c = 0; c < ends.size(); ++c) {
      ends[c] = std::max(ends[c], times[s].channels[c].end);
    }
    const bool same_cycle = s > 0 && stream.segments[s - 1].cycle == segment.cycle;
    const bool same_turn =
        same_cycle && stream.segments[s - 1].cycle_repetition == segment.cycle_repetition;
    if (!same_cycle) in_cycle = Comparison{};
    if (!same_turn) in_cycle.begin_repetition();
    in_cycle.add(times[s], before, ends, segment.run_weight);
    if (!same_turn || stream.segments[s - 1].run != segment.run) in_run = Comparison{};
    in_run.begin_repetition();
    in_run.add(times[s], before, ends, 1.0);
    if (segment.run_weight > 1.0) {
      found.drift = std::max(found.drift, in_run.drift());
      found.runs[segment.run] = std::max(found.runs[segment.run], in_run.change());
    }
    if (segment.weight <= segment.run_weight) continue;
    found.cycles[segment.cycle] = in_cycle.change();
    const bool is_last = s + 1 == times.size() || stream.segments[s + 1].cycle != segment.cycle;
    if (is_last) found.drift = std::max(found.drift, in_cycle.drift());
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
  for (std::size_t i = 0; i < streams.size(); ++i) compare(streams[i], times[i], found);
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
  Repetitions repetitions = Repetitions::full(program);
  if (program.by_stage().size() > 1) return repetitions;
  const Reach reach = reach_of(program);
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
  if (found.drift > tolerance) return Repetitions::full(program);
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

}  // namespace fourfold::inline sim::inline replay
