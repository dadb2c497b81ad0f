// Timed programs for tests of the estimate: unrolled ones, random ones, and a slow, obvious walk.
#pragma once

#include <algorithm>
#include <random>

#include "sim/cost/timed_program.hpp"
#include "tests/channels.hpp"

namespace fourfold::tests {

inline std::vector<TimedStep> unrolled_steps(const TimedProgram& p) {
  std::vector<TimedStep> steps;
  for (const RunCycle& cycle : p.cycles) {
    for (std::int64_t i = 0; i < cycle.repeats; ++i) {
      for (auto r = static_cast<std::size_t>(cycle.first); r < static_cast<std::size_t>(cycle.last);
           ++r) {
        for (std::int64_t k = 0; k < p.runs[r].repeats; ++k) {
          steps.insert(steps.end(), p.steps.begin() + p.runs[r].first,
                       p.steps.begin() + p.runs[r].last);
        }
      }
    }
  }
  return steps;
}

// The same program with every repetition written out.
inline TimedProgram unrolled(const TimedProgram& p) {
  TimedProgram result = p;
  result.stages.clear();
  result.steps = unrolled_steps(p);
  result.runs = {{0, static_cast<std::int32_t>(result.steps.size()), 1}};
  result.cycles = {{0, 1, 1}};
  return result;
}

// Seconds by the definition: every post remembered, every channel FIFO, no loop known.
inline double naive_seconds(const TimedProgram& p) {
  struct Post {
    double finish, duration, compute_before;
    Interference lost;
  };
  std::vector<std::vector<Post>> posts(p.channels.size());
  double now = 0, compute = 0;
  for (const TimedStep& step : unrolled_steps(p)) {
    auto& channel = posts[static_cast<std::size_t>(step.channel)];
    if (step.kind == StepKind::compute) {
      now += step.duration.value;
      compute += step.duration.value;
    } else if (step.kind == StepKind::post) {
      const TimedCollective& posted = p.collectives[static_cast<std::size_t>(step.collective)];
      const double takes = posted.uncontended.value;
      const double begins = channel.empty() ? now : std::max(now, channel.back().finish);
      channel.push_back({begins + takes, takes, compute, posted.lost});
    } else {
      const Post& post = channel[channel.size() - 1 - static_cast<std::size_t>(step.back)];
      const InterferenceCharge charge =
          interference_charge(post.lost, {post.duration}, {compute - post.compute_before});
      compute += charge.compute.value;
      const double late = charge.late.value + step.duration.value;  // the last member's
      now = std::max(now + charge.compute.value, post.finish + late);
    }
  }
  return now;
}

// A program of loops within loops over random steps; the first cycle posts on every channel often
// enough that each later wait has something to wait for.
inline TimedProgram random_program(std::mt19937& random, std::int32_t max_back = 3) {
  const auto below = [&random](int n) { return static_cast<std::int32_t>(random() % n); };
  const auto seconds = [&random] {
    return Seconds{1e-3 * (1 + static_cast<double>(random() % 997))};
  };
  TimedProgram p;
  const bool interferes = random() % 2 != 0;
  p.max_back = max_back;
  p.channels = made_up_channels();
  const auto channels = static_cast<std::int32_t>(p.channels.size());
  for (ChannelNumber channel = 0; channel < channels; ++channel) {
    for (int i = 0; i < 2; ++i) {
      p.collectives.push_back({channel, {}, {}, seconds()});
      if (interferes) p.collectives.back().lost = {0.1, 0.3};
    }
  }
  const auto post = [&](std::int32_t collective) {
    const ChannelNumber channel = p.collectives[static_cast<std::size_t>(collective)].channel;
    p.steps.push_back({StepKind::post, channel, collective, 0, {}});
  };
  for (std::int32_t i = 0; i < (max_back + 1) * 2 * channels; ++i) post(i % (2 * channels));
  p.runs.push_back({0, static_cast<std::int32_t>(p.steps.size()), 1});
  p.cycles.push_back({0, 1, 1});
  for (int c = 0; c < 1 + below(3); ++c) {
    RunCycle cycle{static_cast<std::int32_t>(p.runs.size()), 0, 1 + below(30)};
    for (int r = 0; r < 1 + below(3); ++r) {
      StepRun run{static_cast<std::int32_t>(p.steps.size()), 0, 1 + below(40)};
      for (int s = 0; s < 2 + below(12); ++s) {
        const ChannelNumber channel = below(channels);
        switch (below(3)) {
          case 0:
            p.steps.push_back({StepKind::compute, {}, -1, 0, seconds()});
            break;
          case 1:
            post(below(2 * channels));
            break;
          default:
            p.steps.push_back({StepKind::wait, channel, -1, below(p.max_back + 1), {}});
        }
      }
      run.last = static_cast<std::int32_t>(p.steps.size());
      p.runs.push_back(run);
    }
    cycle.last = static_cast<std::int32_t>(p.runs.size());
    p.cycles.push_back(cycle);
  }
  return p;
}

}  // namespace fourfold::tests
