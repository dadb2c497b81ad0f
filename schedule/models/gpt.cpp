// Parts of a GPT's training step; see gpt.hpp.
#include "schedule/models/gpt.hpp"

#include <stdexcept>
#include <string>

namespace fourfold {

Gpt::Gpt(const Model& model, const StepOptions& options, OptimizerState state)
    : options_(options), r_(options.precision, state), model_(model) {}

void Gpt::record(const Turn& turn) {
  r_.begin_turn(turn);
  switch (turn.part) {
    case StepPart::start:
      return start();
    case StepPart::forward:
      return forward(turn);
    case StepPart::backward:
      return backward(turn);
    case StepPart::reduce:
      return reduce();
    case StepPart::finish:
      return finish();
  }
}

Program Gpt::program(const Steady& steady) {
  Program program = r_.finish(steady);
  program.targets = targets_;
  program.loss = loss_;
  return program;
}

Program Gpt::evaluation(const Model& model, const StepOptions& options) {
  StepOptions forward = options;
  forward.micro_batches = 1;
  forward.recompute = Recompute::none;
  Gpt gpt(model, forward, OptimizerState::none);
  gpt.record({StepPart::start});
  gpt.record({StepPart::forward, 0, true, true});
  gpt.r_.begin_turn({StepPart::finish});
  gpt.r_.begin_section("finish", -1);
  gpt.complete_loss();
  gpt.r_.keep(gpt.loss_);
  const Id logits = gpt.saved_.at(0).head.logits;
  gpt.r_.keep(logits);
  Program program = gpt.program();
  program.logits = logits;
  return program;
}

void Gpt::start() {
  // z has two channels, so that a weight gather never queues behind a gradient's reduce-scatter.
  for (Axis axis : {Axis::x, Axis::y}) r_.declare(axis, "");
  for (const char* purpose : {"gather", "reduce"}) r_.declare(Axis::z, purpose);
  r_.declare(Axis::data, "");
  r_.begin_section("start", -1);
  const Shape token_column{all_tokens, 1, {{Axis::data, Axis::z}, {}, {}, {}, Owed::sum}};
  tokens_ = r_.data("tokens", token_column, Precision::int32);
  targets_ = r_.data("targets", token_column, Precision::int32);
  vocabulary_.emplace_back(r_, model_, gradients_);
  for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
    blocks_.emplace_back(r_, model_, layer, gradients_);
  }
}

void Gpt::forward(const Turn& turn) {
  const Recording now = recording(turn);
  Saved& saved = saved_[turn.micro_batch];
  r_.begin_section("embedding", -1);
  Id stream = vocabulary_.front().embed(now, tokens_);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    r_.begin_section("forward", static_cast<std::int64_t>(layer));
    auto block = blocks_[layer].forward(now, stream, Hiding::all_gather);
    saved.blocks.push_back(block.saved);
    stream = block.output;
  }
  r_.begin_section("head", -1);
  const auto head = vocabulary_.front().head(now, stream, targets_);
  saved.head = head.saved;
  const Id loss = r_.reduce({functions::loss_sum, "loss", Precision::fp32}, {head.output});
  loss_ = loss_ == -1 ? loss : r_.add("loss", {loss_, loss}, Precision::fp32);
  at_head_ = turn.micro_batch;
}

void Gpt::backward(const Turn& turn) {
  const auto found = saved_.find(turn.micro_batch);
  if (found == saved_.end()) {
    throw std::invalid_argument("order: the backward of micro-batch " +
                                std::to_string(turn.micro_batch) + " comes before its forward");
  }
  const Saved saved = std::move(found->second);
  saved_.erase(found);
  const Recording now = recording(turn);
  const bool reduce_beside = turn.last && options_.data_reduction == DataReduction::beside_backward;
  // Right behind its forward, the head's backward goes on in the head's section.
  if (at_head_ != turn.micro_batch) r_.begin_section("head backward", -1);
  at_head_ = -1;
  const auto head = vocabulary_.front().head_backward(now, saved.head, targets_);
  Id stream = head.input;
  for (std::size_t layer = blocks_.size(); layer-- > 0;) {
    r_.begin_section("backward", static_cast<std::int64_t>(layer));
    stream = blocks_[layer].backward(now, saved.blocks[layer], stream);
    if (reduce_beside) blocks_[layer].bucket().reduce(r_, options_);
  }
  r_.begin_section("embedding backward", -1);
  vocabulary_.front().embed_backward(now, stream, tokens_, head.table);
}

void Gpt::reduce() {
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    r_.begin_section("data reduction", -1);
    block->bucket().reduce(r_, options_);
  }
}

void Gpt::complete_loss() {
  for (Axis axis : {Axis::z, Axis::data}) loss_ = r_.all_reduce(loss_, axis, Hiding::never);
}

// Clipping: a gradient's squares are owed along exactly the axes that cut it, so nothing is
// counted twice; scalars are reduced in a fixed order.
void Gpt::finish() {
  SmallGradients& small = gradients_.small;
  const Bucket& table = vocabulary_.front().bucket();
  r_.begin_section("finish", -1);
  vocabulary_.front().bucket().reduce(r_, options_);
  small.reduce(r_);
  complete_loss();
  std::vector<Id> squares{table.square_sum(r_)};
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    r_.begin_section("norm", -1);
    squares.push_back(
        r_.add("norm", {squares.back(), block->bucket().square_sum(r_)}, Precision::fp32));
  }
  r_.begin_section("clip", -1);
  Id weights = squares.back();
  for (Axis axis : {Axis::z, Axis::y}) weights = r_.all_reduce(weights, axis, Hiding::never);
  Id x_cut = r_.add("norm.x", {weights, small.square_sum(r_, Axis::x)}, Precision::fp32);
  x_cut = r_.all_reduce(x_cut, Axis::x, Hiding::never);
  const Id y_cut = r_.all_reduce(small.square_sum(r_, Axis::y), Axis::y, Hiding::never);
  const Id factor =
      r_.map({functions::norm_factor, "clip_factor", Precision::fp32}, {x_cut, y_cut});
  table.update(r_, factor);
  small.update(r_, factor);
  for (Block& block : blocks_) {
    r_.begin_section("update", -1);
    block.bucket().update(r_, factor);
  }
}

}  // namespace fourfold
