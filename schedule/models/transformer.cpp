// The order of a training step; see transformer.hpp.
#include "schedule/models/transformer.hpp"

#include <memory>

#include "schedule/models/block.hpp"
#include "schedule/models/vocabulary.hpp"

namespace fourfold {

namespace {

class Step {
 public:
  Step(const Model& model, const StepOptions& options, OptimizerState state)
      : options_(options), r_(options.precision, state) {
    r_.begin_section("start", -1, -1);
    const Shape token_column{0, 1, {{Axis::z, Axis::data}, {}, {}, {}, Owed::sum}, true};
    tokens_ = r_.data("tokens", token_column, Precision::int32);
    targets_ = r_.data("targets", token_column, Precision::int32);
    vocabulary_ = std::make_unique<Vocabulary>(r_, model, small_);
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      blocks_.push_back(std::make_unique<Block>(r_, model, layer, small_));
    }
  }

  Program record() {
    for (std::int64_t i = 0; i < options_.micro_batches; ++i) {
      micro_batch({i, options_.micro_batches});
    }
    if (options_.data_reduction == DataReduction::after_backward) {
      for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
        r_.begin_section("data reduction", -1, -1);
        (*block)->bucket().reduce(r_, options_);
      }
    }
    finish();
    return finished();
  }

  Program evaluation() {
    forward({});
    r_.begin_section("finish", -1, -1);
    complete_loss();
    r_.keep(loss_);
    r_.keep(vocabulary_->logits());
    Program program = finished();
    program.logits = vocabulary_->logits();
    return program;
  }

 private:
  std::int64_t layers() const { return static_cast<std::int64_t>(blocks_.size()); }

  void forward(const MicroBatch& m) {
    r_.begin_section("embedding", m.index, -1);
    Id stream = vocabulary_->embed(r_, tokens_, options_);
    for (std::int64_t layer = 0; layer < layers(); ++layer) {
      r_.begin_section("forward", m.index, layer);
      stream = blocks_[static_cast<std::size_t>(layer)]->forward(r_, stream, options_,
                                                                 Hiding::all_gather);
    }
    r_.begin_section("head", m.index, -1);
    const Id token_loss = vocabulary_->head(r_, stream, targets_, options_);
    const Id loss = r_.reduce({Function::loss_sum, "loss", Precision::fp32}, {token_loss});
    loss_ = m.first() ? loss : r_.add("loss", {loss_, loss}, Precision::fp32);
  }

  void micro_batch(const MicroBatch& m) {
    const bool reduce_beside =
        m.last() && options_.data_reduction == DataReduction::beside_backward;
    forward(m);
    Id stream = vocabulary_->head_backward(r_, targets_, m, options_);
    for (std::int64_t layer = layers(); layer-- > 0;) {
      r_.begin_section("backward", m.index, layer);
      Block& block = *blocks_[static_cast<std::size_t>(layer)];
      stream = block.backward(r_, stream, m, options_);
      if (reduce_beside) block.bucket().reduce(r_, options_);
    }
    r_.begin_section("embedding backward", m.index, -1);
    vocabulary_->embed_backward(r_, stream, tokens_, m, options_);
  }

  Program finished() {
    Program program = r_.finish();
    program.targets = targets_;
    program.loss = loss_;
    return program;
  }

  void complete_loss() {
    for (Axis axis : {Axis::z, Axis::data}) loss_ = r_.all_reduce(loss_, axis, Hiding::never);
  }

  // Clipping: a gradient's squares are owed along exactly the axes that cut it, so nothing is
  // counted twice; scalars are reduced in a fixed order.
  void finish() {
    r_.begin_section("finish", -1, -1);
    vocabulary_->bucket().reduce(r_, options_);
    small_.reduce(r_);
    complete_loss();
    std::vector<Id> squares{vocabulary_->bucket().square_sum(r_)};
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      r_.begin_section("norm", -1, -1);
      squares.push_back(
          r_.add("norm", {squares.back(), (*block)->bucket().square_sum(r_)}, Precision::fp32));
    }
    r_.begin_section("clip", -1, -1);
    Id weights = squares.back();
    for (Axis axis : {Axis::z, Axis::y}) weights = r_.all_reduce(weights, axis, Hiding::never);
    Id x_cut = r_.add("norm.x", {weights, small_.square_sum(r_, Axis::x)}, Precision::fp32);
    x_cut = r_.all_reduce(x_cut, Axis::x, Hiding::never);
    const Id y_cut = r_.all_reduce(small_.square_sum(r_, Axis::y), Axis::y, Hiding::never);
    const Id factor =
        r_.map({Function::norm_factor, "clip_factor", Precision::fp32}, {x_cut, y_cut});
    vocabulary_->bucket().update(r_, factor);
    small_.update(r_, factor);
    for (auto& block : blocks_) {
      r_.begin_section("update", -1, -1);
      block->bucket().update(r_, factor);
    }
  }

  StepOptions options_;
  Recorder r_;
  SmallGradients small_;
  std::unique_ptr<Vocabulary> vocabulary_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Id tokens_ = -1, targets_ = -1, loss_ = -1;
};

}  // namespace

Program record_step(const Model& model, const StepOptions& options) {
  return Step(model, options, OptimizerState::kept).record();
}

Program record_evaluation(const Model& model, const StepOptions& options) {
  StepOptions forward = options;
  forward.micro_batches = 1;
  forward.recompute = Recompute::none;
  return Step(model, forward, OptimizerState::none).evaluation();
}

}  // namespace fourfold
