// A short run of the executor on all ranks of a distributed test, and the referee's run of the
// same.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "engine/batch.hpp"
#include "engine/bf16.hpp"
#include "engine/cpu/reference_backend.hpp"
#include "engine/executor.hpp"
#include "engine/initial_weights.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/plan/block_place.hpp"
#include "engine/reference/lockstep.hpp"
#include "schedule/order/step.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {

inline constexpr std::uint64_t run_seed = 7;

// What is run: 10 words along x pad, and 3 x 16 x 10 elements along z are ragged pieces.
struct Case {
  Model model{"small", 2, 16, 8, 3, 11};
  StepOptions options;
  ProcessGrid grid;
  std::int64_t sequences = 8;
  std::int64_t steps = 2;
  std::int64_t left_out_of = 0;  // one target of so many does not count; 0: none
};

// The same on every rank. Which targets count is not the same on all of them.
inline Batch batch_of(const Case& what, std::int64_t number) {
  Batch batch = random_batch(what.model, what.sequences, static_cast<std::uint64_t>(number));
  if (what.left_out_of == 0) return batch;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i * i + i / 7);
    if (at % what.left_out_of == 0) batch.targets[i] = ignored_target;
  }
  return batch;
}

struct Means {
  TransportKind transport = TransportKind::ring;
  ProgressMode progress = ProgressMode::none;
};

// This rank's words of a batch, micro-batch by micro-batch.
inline LocalBatch local_batch(const Batch& batch, const Case& run, std::int64_t rank) {
  LocalBatch local;
  local.sequences = batch.sequences;
  if (run.left_out_of > 0) local.counted_targets = counted_targets(batch.targets);
  const std::int64_t tokens = batch.sequences / run.options.micro_batches * run.model.sequence;
  for (std::int64_t m = 0; m < run.options.micro_batches; ++m) {
    const Share own = share(run.grid, rank, m, tokens);
    const auto first = static_cast<std::ptrdiff_t>(own.first);
    const auto last = static_cast<std::ptrdiff_t>(own.first + own.count);
    local.tokens.insert(local.tokens.end(), batch.tokens.begin() + first,
                        batch.tokens.begin() + last);
    local.targets.insert(local.targets.end(), batch.targets.begin() + first,
                         batch.targets.begin() + last);
  }
  return local;
}

inline std::vector<Communicator*> communicators(Channels& channels, const Program& program) {
  return channels.communicators(program.channels);
}

// Numbers of a size that all gradients feel, biases and norms included.
class RoughWeights {
 public:
  RoughWeights(const Model& model, WeightKind kind, const std::string& parameter)
      : start_(kind, parameter, model.layers, run_seed), numbers_(run_seed + 1, parameter) {}
  float operator()(std::int64_t row, std::int64_t col) const {
    return static_cast<float>(start_(row, col) +
                              0.2 * numbers_[static_cast<std::uint64_t>(row * 4096 + col)]);
  }

 private:
  InitialWeights start_;
  NormalNumbers numbers_;
};

inline std::map<std::string, WeightKind> kinds_of_parameters(const Model& model) {
  std::map<std::string, WeightKind> kinds;
  for (const Value& value : record_step(model, {}).values) {
    kinds.emplace(value.label.full(), value.weight);
  }
  return kinds;
}

inline void roughen(const Model& model, Weights& weights) {
  const std::map<std::string, WeightKind> kinds = kinds_of_parameters(model);
  for (const Stored& stored : weights.all()) {
    if (stored.kind == WeightKind::none || stored.has_master) continue;
    HostView view(*stored.memory);
    std::string name = stored.name;
    const std::string suffix = ".master";
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    const RoughWeights rough(model, kinds.at(name), name);
    const BlockPlace place = block_place(stored.shape, weights.grid(), weights.rank());
    std::byte* const block = view.open(stored.block.data, stored.block.bytes());
    for (std::int64_t i = 0; i < stored.block.size(); ++i) {
      const auto at = place.global(i);
      const float number = at ? rough(at->first, at->second) : 0.0F;
      if (stored.block.precision == Precision::bf16) {
        reinterpret_cast<std::uint16_t*>(block)[i] = bf16_bits(number);
      } else {
        reinterpret_cast<float*>(block)[i] = number;
      }
    }
    view.close();
  }
  weights.round_masters();
}

inline void roughen(const Model& model, Lockstep<float>& run) {
  const std::map<std::string, WeightKind> kinds = kinds_of_parameters(model);
  for (const std::string& name : run.parameters()) {
    Matrix<float> weight = run.weight(name);
    const RoughWeights rough(model, kinds.at(name), name);
    for (std::int64_t r = 0; r < weight.rows; ++r) {
      for (std::int64_t c = 0; c < weight.cols; ++c) weight(r, c) = rough(r, c);
    }
    run.set_weight(name, weight);
  }
}

inline AdamW optimizer_of_tests() {
  AdamW optimizer;
  optimizer.learning_rate = 1e-2;
  optimizer.clip_norm = 0.5;  // below the norms of these tests
  return optimizer;
}

// Weights of all sizes, or zeros where only the work matters.
enum class StartFrom : std::uint8_t { rough_weights, zeros };

// An executor with all that it needs.
struct OneRun {
  OneRun(const Case& given, const Means& means, Backend& backend,
         StartFrom start = StartFrom::rough_weights)
      : what(given),
        rank(rank_in(MPI_COMM_WORLD)),
        schedule(
            issue(record_step(what.model, what.options, stage_of(what.grid, rank)), what.options)),
        weights(schedule.program, what.grid, rank, backend.memory()),
        channels(what.grid, schedule.program.channels, means.transport, means.progress,
                 backend.memory()),
        executor(what.model, schedule, what.sequences,
                 {weights, backend, communicators(channels, schedule.program),
                  [this] { channels.between_tiles(); }}) {
    if (start == StartFrom::zeros) return;
    weights.initialise(what.model, run_seed);
    roughen(what.model, weights);
  }

  ExecutedStep step(std::int64_t number) {
    return executor.step(local_batch(batch_of(what, number), what, rank), optimizer_of_tests(),
                         number);
  }

  Case what;
  std::int64_t rank = 0;
  Schedule schedule;
  Weights weights;
  Channels channels;
  Executor executor;
};

// The referee after as many steps.
struct Referee {
  explicit Referee(const Case& what)
      : run(what.model, what.options, what.grid, run_seed, Rounding::recorded) {
    roughen(what.model, run);
    for (std::int64_t number = 1; number <= what.steps; ++number) {
      steps.push_back(run.step(batch_of(what, number), optimizer_of_tests()));
    }
  }
  Lockstep<float> run;
  std::vector<StepResult> steps;
};

// On one stage, in order.
inline std::vector<ProcessGrid> grids_of_all_ranks() {
  return grids_of(size_of(MPI_COMM_WORLD));
}

// All grids of as many ranks with a pipeline of so many stages at most, in order.
inline std::vector<ProcessGrid> pipelines_of_all_ranks(std::int64_t most_stages) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  std::vector<ProcessGrid> grids;
  for (std::int64_t stages = 2; stages <= std::min(most_stages, ranks); ++stages) {
    if (ranks % stages != 0) continue;
    for (const ProcessGrid& stage : grids_of(ranks / stages)) {
      grids.emplace_back(stage.extent(Axis::x), stage.extent(Axis::y), stage.extent(Axis::z),
                         stage.extent(Axis::data), stages);
    }
  }
  return grids;
}

inline std::vector<ProcessGrid> grids_and_pipelines_of_all_ranks(std::int64_t most_stages) {
  std::vector<ProcessGrid> grids = grids_of_all_ranks();
  for (const ProcessGrid& grid : pipelines_of_all_ranks(most_stages)) grids.push_back(grid);
  return grids;
}

// Two grids that cut most axes, and the last one, which cuts only the first.
inline std::vector<ProcessGrid> some_grids() {
  std::vector<ProcessGrid> grids = grids_of_all_ranks();
  const auto cut = [](const ProcessGrid& grid) {
    return std::count_if(all_axes.begin(), all_axes.end(),
                         [&](Axis axis) { return grid.extent(axis) > 1; });
  };
  std::stable_sort(grids.begin(), grids.end(),
                   [&](const ProcessGrid& a, const ProcessGrid& b) { return cut(a) > cut(b); });
  if (grids.size() > 3) grids = {grids[0], grids[1], grids.back()};
  return grids;
}

}  // namespace fourfold::tests
