// One stage of the referee: all ranks of a stage walk the stage's stream, with real numbers and
// plain loops. It does nothing the stream does not say, and refuses a stream that reads a value
// before its wait, after its release, or while an all-reduce may overwrite it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/adamw.hpp"
#include "engine/batch.hpp"
#include "engine/reference/block_store.hpp"
#include "engine/reference/compute.hpp"
#include "engine/reference/mailboxes.hpp"
#include "schedule/models/model.hpp"
#include "schedule/order/issue.hpp"
#include "schedule/order/ready_turns.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline engine::inline reference {

// What a stage found out about a step.
struct StageResult {
  double loss = 0.0;           // mean over the step's targets, on the last stage
  double gradient_norm = 0.0;  // before clipping, of all stages
  // Bytes of one rank's buffers in the collectives and messages of a channel, by its number, in the
  // recorded precision: what is gathered, reduced or sent. Nothing where a group has one member.
  std::vector<Bytes> payload;
};

template <typename T>
class StageWalk {
 public:
  // `grid` is that of one stage. What it hands to other stages goes through `mailboxes`, which must
  // outlive it.
  StageWalk(const Model& model, Schedule schedule, const ProcessGrid& grid, Rounding rounding,
            Mailboxes<T>& mailboxes);

  BlockStore<T>& store() { return store_; }
  const BlockStore<T>& store() const { return store_; }
  const Program& program() const { return store_.program(); }
  reference::Kernels<T>& kernels() { return kernels_; }
  // Of the last step, by parameter.
  struct Gradient {
    Shape shape;
    Blocks<T> blocks;
  };
  const std::map<std::string, Gradient>& gradients() const { return gradients_; }
  std::int64_t micro_batches() const { return micro_batches_; }

  // A step begins; `steps_done` counts it. The batch must last until it ends.
  void begin(const Batch& batch, const AdamW& optimizer, std::int64_t steps_done);
  // Goes on until the stream's end, or until another stage must post something first.
  bool walk();
  // How far it has come in the stream.
  std::size_t position() const { return steps_; }
  StageResult end();

 private:
  const Op& op_at(std::int32_t i) const {
    return store_.program().ops[static_cast<std::size_t>(i)];
  }
  std::string name_of(Id id) const { return store_.program()[id].label.full(); }
  void expect_readable(Id id, const Op& op) const;
  bool joins_stages(const Op& op) const { return op.axis == Axis::pipe; }
  typename Mailboxes<T>::Post post_of(std::int32_t i) const {
    return {program().channel_of(op_at(i)), program().stage.index,
            post_number_[static_cast<std::size_t>(i)]};
  }

  // The next stretch of the stream: of a fixed order there is one, of a ready-queue one before it,
  // one for each of its turns, and one behind it. False at the end.
  bool next_stretch();
  // The next turn of a part.
  const CutStream::Stretch& stretch(StepPart part) const;
  // False if another stage must post something first.
  bool step(const Issue& issue);
  // What the members agreed on, or the one turn that may come.
  StepPart next_turn() const;
  // False if no message has arrived that a turn could begin with.
  bool choose(std::int32_t i);
  bool arrived(StepPart part) const;

  void compute(std::int32_t i);
  void kernel(std::int32_t i);
  void pack(const Op& op);
  void unpack(const Op& op);
  void cut(const Op& op);
  void update(const Op& op);
  void start(std::int32_t i);
  void wait(const Issue& issue);
  void arrive(std::int32_t op, std::size_t k);
  Blocks<T> reduced(const Op& op, Id operand, Id result) const;
  void observe(const Op& op);

  Model model_;
  CutStream cut_;
  std::vector<Issue> stream_;
  BlockStore<T> store_;
  Mailboxes<T>& mailboxes_;
  reference::Kernels<T> kernels_;
  std::int64_t micro_batches_ = 1;
  std::map<std::string, Gradient> gradients_;
  std::vector<std::int32_t> in_flight_;    // started posts that nobody has waited for
  std::vector<std::int32_t> post_number_;  // by operation: its number on its channel
  std::vector<std::int32_t> posts_;        // by channel
  const Batch* batch_ = nullptr;
  AdamW optimizer_;
  std::int64_t steps_done_ = 0;
  std::int64_t micro_batch_tokens_ = 0;
  std::int64_t length_ = 0;          // of each sequence, with what the step reads
  std::int64_t step_targets_ = 0;    // that count
  std::size_t next_ = 0, last_ = 0;  // in the stream
  std::size_t steps_ = 0;
  ReadyTurns ready_;
  bool behind_ = false;  // the ready-queue, or there is none
  Blocks<T> choice_;     // what the members have agreed on so far
  StageResult result_;
};

}  // namespace fourfold::inline engine::inline reference
