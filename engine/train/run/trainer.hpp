// The training loop: steps, and between them validation, checkpoints, samples, and what is said of
// it all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/cpu/reference_product.hpp"
#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/data/data.hpp"
#include "engine/train/run/memory.hpp"
#include "engine/train/run/run_header.hpp"
#include "engine/train/run/run_log.hpp"
#include "engine/train/run/validation.hpp"
#include "engine/train/run/worker.hpp"
#include "engine/train/sample/sampler.hpp"

namespace fourfold {

struct TrainOutcome {
  std::vector<double> losses;    // of the steps of this run
  double validation_loss = 0.0;  // the last one
  std::string checkpoint;        // the last one
  Texts texts;                   // the last ones that were drawn
  bool stopped = false;          // a signal came before the end
};

// The step of this run that --trace means, as many having been trained before it. Throws
// std::runtime_error if the run has not so many.
std::int64_t traced_step(const TrainSettings& settings, std::int64_t steps_before);

enum class RunEnd : std::uint8_t { whole, stopped, diverged };

class Trainer {
 public:
  // Weights are set, from their start or from a checkpoint, of which `state` tells; all that is
  // handed in must outlive the trainer. Collective, as run() is.
  Trainer(const TrainSettings& settings, const Worker& worker, const Data& data, Weights& weights,
          RunLog& log);

  // `facts` are those of the header; the measured growth of memory is set against its count.
  TrainOutcome run(TrainingState state, const RunFacts& facts, const MemoryGrowth& growth);

 private:
  void step();
  StepReport report_of(const ExecutedStep& executed, double learning_rate, double begin);
  double reference_seconds();  // 0 where it is not to be timed
  void report_growth(const RunFacts& facts, const MemoryGrowth& growth);
  void write_trace(const std::vector<OpSpan>& spans);
  void validate();
  void write_checkpoint();
  void draw_texts();
  void expect_finite(const StepReport& report) const;
  void record_end(RunEnd end) const;
  void finish();
  bool every(std::int64_t steps) const { return steps > 0 && state_.step % steps == 0; }
  bool due_on_screen() const;
  double done() const { return settings_.length.done(trained_); }

  TrainSettings settings_;
  Worker worker_;
  const Data& data_;
  Weights& weights_;
  RunLog& log_;
  Executor executor_;
  std::optional<ReferenceProduct> reference_;  // where it is to be timed
  Checkpoints checkpoints_;
  std::optional<Validation> validation_;  // made when first used: training needs less memory
  std::optional<Sampler> sampler_;
  TrainingState state_;
  StepWork work_;
  TrainOutcome outcome_;
  std::int64_t traced_step_ = 0;
  std::int64_t staged_before_ = 0;  // bytes, in steps before this one and between steps
  double words_read_ = 0.0;         // the fingerprint of this step's on this rank
  double began_ = 0.0;              // on this rank's clock
  double said_at_ = 0.0;            // when the last line of a step was said, in seconds of this run
  Trained trained_;  // by rank 0's clock, on all ranks: when to end must not depend on the rank
};

}  // namespace fourfold
