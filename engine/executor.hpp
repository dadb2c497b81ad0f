// The measured rung: this rank's walk over the schedule's stream, with real kernels and real
// collectives and nothing that the stream does not say.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/adamw.hpp"
#include "engine/backend.hpp"
#include "engine/caches.hpp"
#include "engine/communicator.hpp"
#include "engine/weights.hpp"
#include "schedule/models/model.hpp"
#include "schedule/order/issue.hpp"

namespace fourfold::inline engine {

// The stage that a rank is of, whose program it walks.
inline Stage stage_of(const ProcessGrid& grid, std::int64_t rank) {
  return {grid.coordinate(rank, Axis::pipe), grid.extent(Axis::pipe)};
}

// This rank's words of one step: its share of each micro-batch (engine/batch.hpp), one after the
// other. Both lists have sequences x tokens that the phase reads of each / (Gz Gdata) words, those
// of all stages alike.
struct LocalBatch {
  std::int64_t sequences = 0;  // of the whole step, on all devices
  std::vector<std::int32_t> tokens, targets;
  // Targets of the whole step, on all devices, that are not left out (engine/words.hpp): the loss
  // is their mean. Without a number: all of them.
  std::optional<std::int64_t> counted_targets{};
  // Tokens that are there of each sequence, with those of this step; without a number: all of them.
  std::optional<std::int64_t> length{};
};

// Start and end of one operation on this rank, in seconds since the step began. A collective lasts
// from its start to the end of its wait; `waited` is the part of it that this rank stood still. Of
// a device that computes later than it is asked, only the step as a whole is timed: it ends when
// the device is through.
struct OpSpan {
  std::int32_t op = 0;
  double start = 0.0, end = 0.0;
  double waited = 0.0;
};

struct ExecutedStep {
  double loss = 0.0;           // mean over the step's targets; 0 but on the last stage
  double gradient_norm = 0.0;  // before clipping; 0 where the schedule has none
  bool applied = true;   // the gradient; else weights and moments are as they were (AdamW::takes)
  double seconds = 0.0;  // wall time on this rank
  std::vector<double> exposed_seconds;  // stood still in waits, by channel of the program
  std::vector<OpSpan> spans;            // in stream order
};

// What an executor works with; must outlive it. Several executors may share it (training and
// evaluation). `between_tiles` is handed to kernels.
struct ExecutorMeans {
  Weights& weights;  // on the backend's device
  Backend& backend;
  std::vector<Communicator*> communicators;  // by channel of the program
  ProgressCall between_tiles;
  Caches* caches = nullptr;  // of phases that have them
};

class Executor {
 public:
  // Plans the arena for this batch size. Throws std::invalid_argument if grid, model and batch do
  // not fit each other, or the schedule is not that of this rank's stage.
  Executor(const Model& model, Schedule schedule, std::int64_t sequences, ExecutorMeans means);
  ~Executor();

  // `optimizer_step` counts from 1. A schedule without updates ignores both.
  ExecutedStep step(const LocalBatch& batch, const AdamW& optimizer, std::int64_t optimizer_step);

  // Of a schedule that keeps them (record_forward): this rank's logits of the last micro-batch,
  // local tokens x local vocabulary, in the device's memory; of phases without a loss those of each
  // sequence's last token. Nothing but on the last stage.
  Tensor logits() const;
  // Of an evaluation: the loss of each of this rank's words, 0 where the target is left out.
  Tensor token_losses() const;
  std::int64_t arena_bytes() const;
  std::int64_t host_arena_bytes() const;  // of what comes and goes in the host's memory
  const Schedule& schedule() const;

 private:
  class StepWalk;
  std::unique_ptr<StepWalk> walk_;
};

}  // namespace fourfold::inline engine
