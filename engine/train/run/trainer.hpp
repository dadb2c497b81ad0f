// The training loop: steps, and between them validation, checkpoints, samples, and what is said of
// it all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cpu/reference_product.hpp"
#include "engine/mpi/session.hpp"
#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/data/data.hpp"
#include "engine/train/run/bad_steps.hpp"
#include "engine/train/run/memory.hpp"
#include "engine/train/run/run_header.hpp"
#include "engine/train/run/run_log.hpp"
#include "engine/train/run/validation.hpp"
#include "engine/train/run/worker.hpp"
#include "engine/train/sample/sampler.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct TrainOutcome {
  std::vector<double> losses;    // of the steps of this run; NaN where no target counts
  double validation_loss = 0.0;  // the last one
  std::string checkpoint;        // the last one
  Texts texts;                   // the last ones that were drawn
  bool stopped = false;          // a signal came before the end
};

enum class RunEnd : std::uint8_t { whole, stopped, diverged, failed };

class Trainer {
 public:
  // Weights are set, from their start or from a checkpoint, of which `state` tells; all that is
  // handed in must outlive the trainer. Collective, as run() is.
  Trainer(const TrainSettings& settings, const Worker& worker, const Data& data, Weights& weights,
          RunLog& log);

  // `facts` are those of the header; the measured growth of memory is set against its count. What
  // fails on all ranks leaves a checkpoint of the last sound state, or where that cannot be written
  // the newest one; the sentence names it, and the log has an end.
  TrainOutcome run(TrainingState state, const RunFacts& facts, const MemoryGrowth& growth);

 private:
  void step();
  void read_on();
  void expect_read() const;
  void expect_logged() const;
  StepReport report_of(const ExecutedStep& executed, double seconds);
  void take(const StepNumbers& numbers);
  void answer_to(const StepNumbers& numbers);
  void go_back(const std::string& why);
  double reference_seconds();  // 0 where it is not to be timed
  void write_trace(const std::vector<OpSpan>& spans);
  Validation& validation();
  void validate();
  bool checkpoint_is_due();
  std::string unsound();
  void write_checkpoint();
  std::string newest_checkpoint() const;  // empty: neither of this run nor of one before it
  [[noreturn]] void end_saved(const FailedTogether& failure);
  void draw_texts();
  void record_end(RunEnd end);
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
  std::int64_t walked_ = 0;  // steps of this run, the bad ones too
  BadStepCount bad_;
  LocalBatch next_;                           // what the next step reads, read ahead
  std::string unreadable_;                    // why it could not be, on this rank
  bool all_read_ = false, log_lost_ = false;  // on any rank, as all know
  bool saving_ = false;                       // a checkpoint has been begun, and is not there yet
  bool ended_ = false;                        // the log has its end
  std::int64_t saved_step_ = 0;
  std::optional<double> saved_at_;  // in seconds of this run, of the first step since then
  double reading_seconds_ = 0.0;    // of the next step's words
  std::int64_t staged_before_ = 0;  // bytes, in steps before this one and between steps
  double words_read_ = 0.0;         // the fingerprint of the next step's on this rank
  std::vector<double> next_words_;  // and on all ranks
  double began_ = 0.0;              // on this rank's clock
  double said_at_ = 0.0;            // when the last line of a step was said, in seconds of this run
  Trained trained_;  // by rank 0's clock, on all ranks: when to end must not depend on the rank
};

}  // namespace fourfold::inline engine::inline train::inline run
