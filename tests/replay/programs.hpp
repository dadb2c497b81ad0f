// Timed programs for the tests of the replay: written step by step, or drawn at random; and the
// options of a replay of all that is in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "sim/cost/timed_program.hpp"
#include "sim/replay/replay.hpp"
#include "tests/channels.hpp"

namespace fourfold::tests {

inline ReplayOptions full() {
  ReplayOptions options;
  options.extent = ReplayExtent::full;
  return options;
}

class ProgramBuilder {
 public:
  ProgramBuilder() { program_.channels = made_up_channels(); }

  std::int32_t collective(ChannelNumber channel, double delay, double work, double cap,
                          CollectiveKind kind = CollectiveKind::all_reduce) {
    program_.collectives.push_back({channel, kind, {{delay}, {work}, {cap}}, {delay + work / cap}});
    return static_cast<std::int32_t>(program_.collectives.size()) - 1;
  }
  void compute(double seconds) {
    program_.steps.push_back({StepKind::compute, 0, -1, 0, {seconds}});
  }
  void post(std::int32_t collective) {
    program_.steps.push_back(
        {StepKind::post, program_.collectives[collective].channel, collective, 0, {}});
  }
  void wait(ChannelNumber channel, std::int32_t back) {
    program_.steps.push_back({StepKind::wait, channel, -1, back, {}});
    program_.max_back = std::max(program_.max_back, back);
  }
  // The steps since the last run become a run.
  void run(std::int64_t repeats) {
    const auto end = static_cast<std::int32_t>(program_.steps.size());
    program_.runs.push_back({run_begin_, end, repeats});
    run_begin_ = end;
  }
  // The runs since the last cycle become a cycle, steps that are in no run yet its last run.
  void cycle(std::int64_t repeats) {
    if (run_begin_ != std::ssize(program_.steps)) run(1);
    const auto end = static_cast<std::int32_t>(program_.runs.size());
    program_.cycles.push_back({cycle_begin_, end, repeats});
    cycle_begin_ = end;
  }
  // Of all collectives so far.
  void interference(double of_kernels, double of_collectives = 0.0) {
    for (TimedCollective& collective : program_.collectives) {
      collective.lost = {of_kernels, of_collectives};
    }
  }
  // What is in no cycle yet becomes one that is done once.
  TimedProgram take() {
    const bool in_no_run = run_begin_ != std::ssize(program_.steps);
    if (in_no_run || cycle_begin_ != std::ssize(program_.runs)) cycle(1);
    return std::move(program_);
  }

 private:
  TimedProgram program_;
  std::int32_t run_begin_ = 0;
  std::int32_t cycle_begin_ = 0;
};

// A few steps on all channels in random order, repeated; every wait names one of the last three
// posts.
inline TimedProgram random_program(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](int limit) { return static_cast<int>(random() % limit); };
  ProgramBuilder builder;
  std::vector<std::int32_t> classes;
  const auto channels = static_cast<ChannelNumber>(made_up_channels().size());
  for (ChannelNumber channel = 0; channel < channels; ++channel) {
    for (int i = 0; i < 2; ++i) {
      classes.push_back(builder.collective(channel, 1e-6 * (1 + below(50)), 1e5 * (1 + below(100)),
                                           1e9 * (1 + below(20))));
    }
  }
  const double of_kernels = 0.01 * below(10);
  builder.interference(of_kernels, 0.1 * below(8));
  for (std::int32_t one : classes) {
    builder.post(one);
    builder.post(one);
  }
  builder.run(1);
  for (int step = 0; step < 30; ++step) {
    const ChannelNumber channel = below(channels);
    const int kind = below(3);
    if (kind == 0) builder.compute(1e-5 * below(200));
    if (kind == 1) builder.post(classes[2 * channel + below(2)]);
    if (kind == 2) builder.wait(channel, below(3));
  }
  builder.run(5);
  for (ChannelNumber channel = 0; channel < channels; ++channel) builder.wait(channel, 0);
  builder.cycle(3);
  return builder.take();
}

// A step like that of a model: gathers one layer ahead, all-reduces waited for at once,
// reduce-scatters waited for `window` layers later; `layers` forward and backward, `micro_batches`
// times.
struct Training {
  std::int64_t layers = 12;
  std::int64_t micro_batches = 4;
  std::int32_t window = 2;
  double gather_work = 20e6;
  double reduce_work = 20e6;
  double layer_compute = 2e-3;
  double interference = 0.0;
};

inline TimedProgram training_program(const Training& training) {
  ProgramBuilder builder;
  const std::int32_t gather = builder.collective(on::z_gather, 1e-4, training.gather_work, 20e9,
                                                 CollectiveKind::all_gather);
  const std::int32_t scatter = builder.collective(on::z_reduce, 1e-4, training.reduce_work, 20e9,
                                                  CollectiveKind::reduce_scatter);
  const std::int32_t along_x = builder.collective(on::x, 5e-5, 10e6, 20e9);
  const std::int32_t along_y = builder.collective(on::y, 5e-5, 10e6, 20e9);
  const std::int32_t along_data = builder.collective(on::data, 1e-3, 100e6, 20e9);
  builder.interference(training.interference);
  builder.post(gather);
  builder.run(1);
  builder.post(gather);
  builder.wait(on::z_gather, 1);
  builder.compute(training.layer_compute);
  builder.post(along_y);
  builder.wait(on::y, 0);
  builder.run(training.layers);
  for (std::int32_t i = 0; i < training.window; ++i) builder.post(scatter);
  builder.run(1);
  builder.post(gather);
  builder.wait(on::z_gather, 1);
  builder.compute(training.layer_compute);
  builder.post(along_x);
  builder.compute(training.layer_compute);
  builder.post(scatter);
  builder.wait(on::x, 0);
  builder.wait(on::z_reduce, training.window);
  builder.run(training.layers);
  builder.wait(on::z_gather, 0);
  builder.wait(on::z_reduce, 0);
  builder.cycle(training.micro_batches);
  builder.post(along_data);
  builder.wait(on::data, 0);
  builder.compute(training.layer_compute);
  return builder.take();
}

}  // namespace fourfold::tests
