// What a step tells people: one line on the screen and one line of JSON in the log.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "schedule/program/channel.hpp"
#include "schedule/program/kernel_group.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline engine::inline train::inline run {

// What does not change from step to step: flops are those of all ranks.
struct StepWork {
  std::int64_t tokens = 0;
  Flops executed;       // as the schedule does it: products, those of attention too
  Flops model;          // the published formula
  FlopsPerSecond peak;  // FMA peaks of all ranks, added up
};

// "executed by the schedule: ..." next to every flop/s figure.
std::string executed_flops_convention();

// By group, as a projection tells them apart.
using KernelSeconds = std::array<double, kernel_groups>;
// What a step's kernels took on this rank, with what they moved on of collectives beside them.
KernelSeconds kernel_seconds(const Program& program, const std::vector<OpSpan>& spans);

// One rank's measurement of a step.
struct RankStep {
  double seconds = 0.0;                 // from reading its words to the end of the update
  std::int64_t staged_bytes = 0;        // went through the host, as MPI does not reach the device
  std::vector<double> exposed_seconds;  // by channel
  KernelSeconds kernels{};
};

struct StepReport {
  std::int64_t step = 0;
  std::optional<double> loss;  // none: no target of the step counts
  double gradient_norm = 0.0, learning_rate = 0.0;
  double epochs = 0.0;   // how often training has read its data
  std::string bad;       // what became of a bad step (engine/train/run/bad_steps.hpp); empty: none
  double seconds = 0.0;  // of the slowest rank
  std::vector<Channel> channels;        // of the program
  std::vector<double> exposed_seconds;  // mean over ranks, by channel
  KernelSeconds kernels{};              // mean over ranks
  std::int64_t staged_bytes = 0;        // of all ranks
  double reference_seconds = 0.0;  // of a fixed product after it, mean over ranks; 0: not timed
  std::optional<std::int64_t> targets;  // that count, where some may be left out
  double seconds_left = -1.0;           // -1: not known
  double done = 0.0;                    // part of the run, 0 to 1
  StepWork work;

  double exposed() const;
  double tokens_per_second() const { return static_cast<double>(work.tokens) / seconds; }
  FlopsPerSecond rate() const { return {work.executed.value / seconds}; }
};

// Puts together what the ranks measured.
void add_ranks(StepReport& report, const std::vector<RankStep>& ranks);

// "step   12  loss 4.1230  norm  1.20  rate 1.2e-03    81.2 ms  25221 tokens/s  ..."
std::string screen_line(const StepReport& report);
std::string json_line(const StepReport& report);

// "1 rank", "2 ranks".
std::string amount(std::int64_t count, const std::string& noun);

}  // namespace fourfold::inline engine::inline train::inline run
