// Variances, wait by wait; see waiting.hpp.
#include "sim/cost/waiting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/cost/order_statistics.hpp"

namespace fourfold::inline sim::inline cost {

namespace {

std::size_t axes_along(Axis axis, const ProcessGrid& grid) {
  const auto bit = [](Axis one) { return std::size_t{1} << static_cast<std::size_t>(one); };
  if (!is_second(axis)) return bit(axis);
  std::size_t along = 0;
  for (const std::int64_t rank : grid.line(0, axis)) {
    for (const Axis own : {Axis::x, Axis::y, Axis::z, Axis::data}) {
      if (grid.coordinate(rank, own) > 0) along |= bit(own);
    }
  }
  return along;
}

// The axes of a set, numbered among those of another that has them all.
std::size_t numbered(std::size_t set, std::size_t all) {
  std::size_t result = 0, next = 1;
  for (std::size_t axis = 1; axis <= all; axis <<= 1) {
    if ((all & axis) == 0) continue;
    if ((set & axis) != 0) result |= next;
    next <<= 1;
  }
  return result;
}

}  // namespace

WaitingWalk::WaitingWalk(TimedProgram& program, const ProcessGrid& grid) : program_(program) {
  for (const Channel& channel : program.channels) {
    OfChannel& of = channels_.emplace_back();
    if (channel.axis == Axis::pipe) continue;
    of.members = members(channel, grid);
    if (of.members == 1) continue;
    of.along = axes_along(channel.axis, grid);
    of.expected = expected_largest(of.members);
    of.left = variance_of_largest(of.members);
  }
  std::size_t any = 0;
  for (const OfChannel& channel : channels_) any |= channel.along;
  for (OfChannel& channel : channels_) channel.along = numbered(channel.along, any);
  sets_ = std::size_t{1} << std::popcount(any);
}

void WaitingWalk::start() {
  apart_ = {};
  clock_ = 0.0;
  const auto kept = static_cast<std::size_t>(program_.max_back) + 1;
  for (OfChannel& channel : channels_) {
    channel.posts.resize(kept);
    channel.posted = 0;
    channel.free = 0.0;
  }
}

void WaitingWalk::whole() {
  start();
  for (const RunCycle& cycle : program_.cycles) {
    repeat(cycle.repeats, [&] {
      for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
        const StepRun& run = program_.runs[static_cast<std::size_t>(r)];
        repeat(run.repeats, [&] { walk(run); });
      }
    });
  }
}

void WaitingWalk::body(const StepRun& run) {
  start();
  for (int time = 0; time < 2; ++time) walk(run);
}

template <typename Once>
void WaitingWalk::repeat(std::int64_t repeats, const Once& once) {
  once();
  if (repeats == 1) return;
  const Apart before = apart_;
  once();
  const auto go_on = [repeats](BySet& now, const BySet& then) {
    const auto more = static_cast<double>(repeats - 2);
    for (std::size_t i = 0; i < now.size(); ++i) now[i] += more * std::max(0.0, now[i] - then[i]);
  };
  go_on(apart_.variance, before.variance);
  go_on(apart_.lead, before.lead);
}

void WaitingWalk::walk(const StepRun& run) {
  for (std::int32_t s = run.first; s < run.last; ++s) {
    TimedStep& step = program_.steps[static_cast<std::size_t>(s)];
    if (step.kind == StepKind::compute) {
      const StepVariation& varies = program_.variations[static_cast<std::size_t>(s)];
      clock_ += step.duration.value;
      apart_.variance[0] += varies.repetition.value * varies.repetition.value;
      apart_.lead[0] += varies.beyond_median.value;
    } else if (step.kind == StepKind::post) {
      post(step);
    } else if (step.kind == StepKind::wait) {
      wait(step);
    }
  }
}

void WaitingWalk::post(const TimedStep& step) {
  OfChannel& channel = channels_[static_cast<std::size_t>(step.channel)];
  const double start = std::max(channel.free, clock_);
  channel.free =
      start + program_.collectives[static_cast<std::size_t>(step.collective)].uncontended.value;
  Post& post = channel.posts[channel.posted++ % channel.posts.size()];
  post.finish = channel.free;
  post.spare = start - clock_;
  std::copy_n(apart_.variance.begin(), sets_, post.apart.variance.begin());
  std::copy_n(apart_.lead.begin(), sets_, post.apart.lead.begin());
}

void WaitingWalk::wait(TimedStep& step) {
  const OfChannel& channel = channels_[static_cast<std::size_t>(step.channel)];
  step.duration = {};
  const auto back = static_cast<std::size_t>(step.back);
  if (channel.members == 1 || step.back < 0 || back >= channel.posted) return;
  const Post& post = channel.posts[(channel.posted - 1 - back) % channel.posts.size()];
  if (post.finish <= clock_) return;
  const std::size_t along = channel.along;
  double variance = 0.0, lead = 0.0;
  for (std::size_t i = 0; i < sets_; ++i) {
    if ((i & along) == along) continue;
    variance += post.apart.variance[i];
    lead += post.apart.lead[i];
    apart_.variance[i | along] += channel.left * post.apart.variance[i];
    apart_.lead[i | along] += post.apart.lead[i];
    apart_.variance[i] = apart_.lead[i] = 0.0;
  }
  const double late = channel.expected * std::sqrt(variance);
  step.duration = {std::max(0.0, std::hypot(late, lead) - lead - post.spare)};
  program_.longest_waiting = std::max(program_.longest_waiting, step.duration);
  clock_ = post.finish + step.duration.value;
}

TimedProgram without_expectations(TimedProgram program) {
  for (std::size_t s = 0; s < program.variations.size(); ++s) {
    TimedStep& step = program.steps[s];
    step.duration = step.kind == StepKind::compute
                        ? step.duration - program.variations[s].beyond_median
                        : Seconds{};
  }
  return program;
}

ExpectedWaiting expected_waiting(const TimedProgram& program) {
  ExpectedWaiting result;
  result.of_channels.resize(program.channels.size());
  if (program.variations.empty()) return result;
  const double share = 1.0 / static_cast<double>(program.by_stage().size());
  double variance = 0.0;
  for (const RunCycle& cycle : program.cycles) {
    for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
      const StepRun& run = program.runs[static_cast<std::size_t>(r)];
      const double times = static_cast<double>(run.repeats * cycle.repeats) * share;
      for (std::int32_t s = run.first; s < run.last; ++s) {
        const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
        if (step.kind == StepKind::compute) {
          const StepVariation& varies = program.variations[static_cast<std::size_t>(s)];
          result.for_slowest += varies.beyond_median * times;
          result.deviation += varies.deviation * times;
          variance += varies.repetition.value * varies.repetition.value * times;
        } else if (step.kind == StepKind::wait) {
          result.of_channels[static_cast<std::size_t>(step.channel)] += step.duration * times;
        }
      }
    }
  }
  result.repetition = {std::sqrt(variance)};
  return result;
}

}  // namespace fourfold::inline sim::inline cost
