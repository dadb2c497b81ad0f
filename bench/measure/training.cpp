// An executor with all that it needs; see training.hpp.
#include "bench/measure/training.hpp"

#include "bench/measure/messages.hpp"
#include "bench/measure/turns.hpp"
#include "engine/batch.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/train/measure/step_values.hpp"
#include "engine/train/run/worker.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline bench::inline measure {

struct TrainingRun::Parts {
  Parts(const Model& of, std::int64_t sequences_of_all)
      : model(of),
        sequences(sequences_of_all),
        grid(1, 1, 1, size_of(MPI_COMM_WORLD)),
        options(in_fp32()),
        program(record_step(model, options)),
        weights(program, grid, rank_in(MPI_COMM_WORLD), backend.memory()),
        channels(grid, program.channels, TransportKind::ring, ProgressMode::tiles,
                 backend.memory()),
        executor(
            training_executor({world, channels, backend}, model, options, sequences, weights)) {
    weights.initialise(model, 1);
    const Batch batch = random_batch(model, sequences, 1);
    const Share own = share(grid, world.rank(), 0, sequences * model.sequence);
    const auto first = static_cast<std::ptrdiff_t>(own.first);
    const auto last = first + static_cast<std::ptrdiff_t>(own.count);
    words.sequences = sequences;
    words.tokens.assign(batch.tokens.begin() + first, batch.tokens.begin() + last);
    words.targets.assign(batch.targets.begin() + first, batch.targets.begin() + last);
  }

  Model model;
  std::int64_t sequences = 0;
  ProcessGrid grid;
  StepOptions options;
  Program program;
  World world;
  TunedBackend backend;
  Weights weights;
  Channels channels;
  Executor executor;
  LocalBatch words;
  std::int64_t steps = 0;
};

TrainingRun::TrainingRun(const Model& model, std::int64_t sequences_a_rank)
    : parts_(std::make_unique<Parts>(model, sequences_a_rank * size_of(MPI_COMM_WORLD))) {}
TrainingRun::~TrainingRun() = default;

double TrainingRun::flops() const {
  return model_flops(parts_->model, parts_->sequences, parts_->options.recompute).value;
}

double TrainingRun::seconds() {
  return slowest_seconds([this] {
    return wall_seconds([this] { parts_->executor.step(parts_->words, {}, ++parts_->steps); });
  });
}

}  // namespace fourfold::inline bench::inline measure
