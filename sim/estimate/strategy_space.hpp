// The space that whole strategies are searched in: what there is to choose from, as lists, and
// which of the combinations the rules let run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"
#include "sim/question/point.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline sim::inline estimate {

// An option of the step that is left open: its flag, and the words that it may be given.
struct OptionChoice {
  std::string flag;  // of step_fields(), such as "--zero"
  std::vector<std::string> words;
};

// What strategies are made of. Options that are not named are the pattern's.
struct StrategySpace {
  std::vector<std::int64_t> devices;
  // By axis; empty: whatever divides the devices. data is what the others leave of the devices, and
  // a list says which of that is wanted.
  std::array<std::vector<std::int64_t>, axis_count> extents;
  // Sequences of a micro-batch on each share of the batch (of z x data); and how many micro-batches
  // a step has. Without either, all that divide the batch. With both, the batch is their product,
  // and the pattern's is not looked at.
  std::vector<std::int64_t> micro_batch_sizes, micro_batches;
  std::vector<OptionChoice> options;
  double memory_risk = 0.5;  // that a strategy is allowed not to fit
};

// A choice, and the words of what there is to choose from, in the order of the space: those with
// one word leave nothing to choose.
struct Factor {
  std::string name;  // "devices", "x", "micro-batch-size", "zero"
  std::vector<std::string> words;
};

// One of the space, and what it does once it is estimated.
struct Strategy {
  ProcessGrid grid;
  std::int64_t global_batch = 0;   // sequences
  StepOptions options;             // with its micro-batches
  std::vector<std::string> words;  // by factor
  Seconds seconds;
  Bytes memory;         // peak per device, on the fullest stage
  FlopsPerSecond rate;  // per device, see strategy_flops
  // Further strategies of the same grid and micro-batches that take the same seconds, as what they
  // choose makes no difference there: sequence parallelism with x = 1.
  std::int64_t alike = 0;

  std::int64_t micro_batches() const { return options.micro_batches; }
  std::int64_t micro_batch_size() const;
};

// Strategies that a rule keeps out, in the order of the rules.
struct Refusal {
  std::string rule;  // "devices", or the name of a misfit
  std::int64_t strategies = 0;
  std::string example;  // why, of the first of them
};

// Most strategies that fit the rules of a space.
inline constexpr std::int64_t most_strategies = 1'000'000;

// What a strategy chooses, as places in the lists of the space.
struct Choices {
  std::uint32_t options = 0;  // a combination of them
  std::uint16_t devices = 0;
  std::array<std::uint16_t, axis_count> extents{};
  std::uint16_t micro_batch_size = 0, micro_batches = 0;
  bool operator==(const Choices&) const = default;
};

// 0: whatever it is, it does not come out whole.
struct MicroBatches {
  std::int64_t size = 0;  // sequences on each share of the batch
  std::int64_t count = 0;

  bool whole() const { return size > 0 && count > 0; }
};

// A space with its open lists filled in, and what their places stand for.
struct StrategyLists {
  // Throws std::runtime_error with a sentence on what is missing, stands twice or is not known.
  StrategyLists(const Point& pattern, const StrategySpace& space);

  ProcessGrid grid(const Choices& choices) const;
  std::int64_t stages(const Choices& choices) const {
    const auto pipe = static_cast<std::size_t>(Axis::pipe);
    return extents[pipe][choices.extents[pipe]];
  }
  // The micro-batches stated, or where none are all that a grid can have. What does not divide its
  // share of the batch lacks the other number.
  std::vector<MicroBatches> micro_batches_on(const ProcessGrid& grid) const;
  // Whether the batch is what micro-batches make of it.
  bool free_batch() const { return stated_sizes && !counts.empty(); }
  std::int64_t batch(const ProcessGrid& grid, const MicroBatches& micro) const;
  // Without its words.
  Strategy strategy(const Choices& choices) const;
  // By factor.
  std::vector<std::string> words(const Choices& choices) const;
  std::vector<std::uint16_t> places(const Choices& choices) const;

  std::int64_t global_batch = 0;  // unless it is free
  std::vector<std::int64_t> devices;
  std::array<std::vector<std::int64_t>, axis_count> extents;
  std::array<bool, axis_count> stated{};    // not whatever divides
  std::vector<std::int64_t> sizes, counts;  // of micro-batches; one is empty if the batch is given
  bool stated_sizes = false;
  std::vector<Factor> options;
  std::vector<StepOptions> combinations;  // of the options, the first of them outermost
  std::vector<Factor> factors;

 private:
  void read_axes(const StrategySpace& space);
  void read_micro_batches(const StrategySpace& space);
  void read_option(const OptionChoice& choice);
  void name_factors();
};

// The strategies of a space that fit the rules, and how many do not.
struct Enumerated {
  std::vector<Choices> fitting;  // the options outermost, then devices and stages
  std::vector<Refusal> refused;  // in the order of the rules
  std::int64_t strategies = 0;   // all, with those refused
};

// Throws std::runtime_error if more than most_strategies fit.
Enumerated enumerate(const Model& model, const StrategyLists& lists);

}  // namespace fourfold::inline sim::inline estimate
