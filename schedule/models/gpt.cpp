// Parts of a GPT's training step; see gpt.hpp.
#include "schedule/models/gpt.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "schedule/models/clipping.hpp"

namespace fourfold::inline schedule::inline models {

std::pair<std::int64_t, std::int64_t> layers_of_chunk(std::int64_t layers, std::int64_t chunks,
                                                      std::int64_t chunk) {
  const std::int64_t each = layers / chunks;
  const std::int64_t rest = layers % chunks;
  const std::int64_t first_longer = (chunks - rest + 1) / 2;
  const auto before = [&](std::int64_t c) {
    return c * each + std::clamp<std::int64_t>(c - first_longer, 0, rest);
  };
  return {before(chunk), before(chunk + 1)};
}

std::pair<std::int64_t, std::int64_t> layers_of_chunk(const Model& model,
                                                      const StepOptions& options,
                                                      std::int64_t stages, std::int64_t chunk) {
  return options.layers_per_stage.said()
             ? options.layers_per_stage.of_chunk(stages, options.chunks, chunk)
             : layers_of_chunk(model.layers, stages * options.chunks, chunk);
}

std::int64_t layers_of_stage(const Model& model, const StepOptions& options, const Stage& stage) {
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < options.chunks; ++c) {
    const auto [first, next] =
        layers_of_chunk(model, options, stage.count, c * stage.count + stage.index);
    count += next - first;
  }
  return count;
}

std::int64_t recomputed_layers(const Model& model, const StepOptions& options,
                               std::int64_t stages) {
  std::int64_t count = 0;
  for (std::int64_t chunk = 0; chunk < stages * options.chunks; ++chunk) {
    const auto [first, next] = layers_of_chunk(model, options, stages, chunk);
    for (std::int64_t layer = first; layer < next; ++layer) {
      if (options.recomputes_layer(layer - first)) ++count;
    }
  }
  return count;
}

std::int64_t fewest_layers(const Model& model, const StepOptions& options, std::int64_t stages) {
  return options.layers_per_stage.said() ? options.layers_per_stage.fewest(stages, options.chunks)
                                         : model.layers / (stages * options.chunks);
}

Gpt::Gpt(const Model& model, const StepOptions& options, const Stage& stage)
    : options_(options),
      without_recompute_(options),
      r_(options.precision, options.trains() ? OptimizerState::kept : OptimizerState::none,
         options.offload_bucket),
      gradients_(options),
      model_(model) {
  without_recompute_.recompute = Recompute::none;
  if (!options.trains()) options_ = without_recompute_;
  r_.begin_stage(stage);
}

Recording Gpt::of_block(const Recording& pass, std::size_t block) {
  const StepOptions& options = recomputed_[block] ? options_ : without_recompute_;
  return {r_, options, pass.turn, kept_, gradients_, pass.left};
}

void Gpt::record(const Turn& turn) {
  r_.begin_turn(turn);
  switch (turn.part) {
    case StepPart::start:
      return start();
    case StepPart::forward:
      return forward(turn);
    case StepPart::backward:
    case StepPart::input_gradient:
      return backward(turn);
    case StepPart::weight_gradient:
      return weight_gradient(turn);
    case StepPart::reduce:
      return reduce();
    case StepPart::finish:
      return finish();
  }
}

// Data's collectives come after all turns, unless gradients are cut along it.
void Gpt::choose() {
  r_.begin_section("choice", -1);
  std::vector<Axis> axes{Axis::x, Axis::y, Axis::z};
  if (options_.cuts_gradients()) axes.push_back(Axis::data);
  r_.choose(axes);
}

Program Gpt::program(const std::vector<Steady>& steady, const ReadyQueue& ready) {
  Program program = r_.finish(steady, ready);
  program.phase = options_.phase;
  program.targets = targets_;
  program.loss = loss_;
  if (!options_.trains()) program.logits = logits_;
  return program;
}

Channel Gpt::forward_to() const {
  return forward_from((stage().index + stage().count - 1) % stage().count, stage().count);
}

void Gpt::start() {
  // z has two channels, so that a weight gather never queues behind a gradient's reduce-scatter.
  for (Axis axis : {Axis::x, Axis::y}) r_.declare(axis, "");
  for (const char* purpose : {"gather", "reduce"}) r_.declare(Axis::z, purpose);
  if (options_.cuts_optimizer()) {
    for (const char* purpose : {"gather", "reduce"}) r_.declare(Axis::data, purpose);
  } else {
    r_.declare(Axis::data, "");
  }
  r_.begin_section("start", -1);
  const Shape token_column{all_tokens, 1, {token_cuts, {}, {}, {}, Owed::sum}};
  if (stage().first()) tokens_ = r_.data("tokens", token_column, Precision::int32);
  if (stage().last() && row_of(options_.phase).loss) {
    targets_ = r_.data("targets", token_column, Precision::int32);
  }
  if (stage().first() || stage().last()) vocabulary_.emplace_back(r_, model_, options_, gradients_);
  const std::int64_t all = stage().count * options_.chunks;
  for (std::int64_t c = 0; c < options_.chunks; ++c) {
    const std::int64_t number = c * stage().count + stage().index;
    const auto [first, next] = layers_of_chunk(model_, options_, stage().count, number);
    Chunk chunk{blocks_.size(), 0, number == 0, number + 1 == all};
    gradients_.begin_chunk();
    for (const LayerKind& kind : layer_kinds(model_, first, next - first)) {
      const auto layer = first + static_cast<std::int64_t>(blocks_.size() - chunk.first);
      recomputed_.push_back(options_.recomputes_layer(layer - first));
      blocks_.emplace_back(r_, model_, kind, layer, gradients_);
    }
    chunk.last = blocks_.size();
    chunks_.push_back(chunk);
  }
}

void Gpt::forward(const Turn& turn) {
  const Recording now = recording(turn);
  const Chunk& own = chunk(turn);
  const Pass pass{turn.micro_batch, turn.chunk};
  Saved& saved = saved_[pass];
  Id stream = -1;
  if (own.begins) {
    r_.begin_section("embedding", -1);
    stream = vocabulary_.front().embed(now, tokens_);
  } else {
    r_.begin_section("receive", -1);
    stream = receive_stream(now, "received", model_.hidden, forward_to());
  }
  for (std::size_t b = own.first; b < own.last; ++b) {
    r_.begin_section("forward", blocks_[b].layer());
    auto block = blocks_[b].forward(now, stream, Hiding::all_gather);
    if (input_on_host(b)) block.saved.input = r_.to_host(block.saved.input);
    saved.blocks.push_back(block.saved);
    stream = block.output;
  }
  if (!own.ends) {
    r_.begin_section("send", -1);
    send_stream(now, stream, forward_from(stage().index, stage().count));
    return;
  }
  r_.begin_section("head", -1);
  const auto head = vocabulary_.front().head(now, stream, targets_);
  saved.head = head.saved;
  token_losses_ = head.output;
  logits_ = head.saved.logits;
  if (token_losses_ == -1) return;
  const Id loss = r_.reduce({functions::loss_sum, "loss", Precision::fp32}, {head.output});
  loss_ = loss_ == -1 ? loss : r_.add("loss", {loss_, loss}, Precision::fp32);
  at_head_ = pass;
}

void Gpt::backward(const Turn& turn) {
  const Pass pass{turn.micro_batch, turn.chunk};
  const auto found = saved_.find(pass);
  if (found == saved_.end()) {
    throw std::invalid_argument("order: the backward of micro-batch " +
                                std::to_string(turn.micro_batch) + " comes before its forward");
  }
  Saved saved = std::move(found->second);
  saved_.erase(found);
  const Chunk& own = chunk(turn);
  const bool split = turn.part == StepPart::input_gradient;
  if (split && own.begins && own.ends) {
    throw std::invalid_argument("order: the backward of a whole model is not split");
  }
  Recording now = recording(turn);
  const auto leave = [&](const char* section, Block* block) {
    if (split) now.left = &left_[pass].emplace_back(Left{section, block, {}}).gradients;
  };
  Id stream = -1;
  std::vector<Id> of_table;
  if (own.ends) {
    // Right behind its forward, the head's backward goes on in the head's section.
    if (at_head_ != pass) r_.begin_section("head backward", -1);
    leave("head weight gradient", nullptr);
    const auto head = vocabulary_.front().head_backward(now, saved.head, targets_);
    stream = head.input;
    if (head.table != -1) of_table.push_back(head.table);
    if (!own.begins && !of_table.empty()) vocabulary_.front().give(now, of_table);
  } else {
    r_.begin_section("receive gradient", -1);
    stream = receive_stream(now, "received.gradient", model_.hidden, backward_to());
  }
  at_head_ = {-1, -1};
  for (std::size_t b = own.last; b-- > own.first;) {
    r_.begin_section(split ? "input gradient" : "backward", blocks_[b].layer());
    leave("weight gradient", &blocks_[b]);
    Block::Saved& kept = saved.blocks[b - own.first];
    if (input_on_host(b)) kept.input = r_.to_device(kept.input);
    stream = blocks_[b].backward(of_block(now, b), kept, stream);
    if (!split) reduce_beside(turn, blocks_[b]);
  }
  if (!own.begins) {
    r_.begin_section("send gradient", -1);
    return send_stream(now, stream, backward_from(stage().index));
  }
  if (split) {
    leave("embedding weight gradient", nullptr);
    return now.weight_gradient(
        {-1, [this, stream](const Recording& at, Id) {
           vocabulary_.front().give(at, {vocabulary_.front().embed_backward(at, stream, tokens_)});
         }});
  }
  r_.begin_section("embedding backward", -1);
  of_table.push_back(vocabulary_.front().embed_backward(now, stream, tokens_));
  vocabulary_.front().give(now, of_table);
}

// Tokens are put together beside the products before.
void Gpt::weight_gradient(const Turn& turn) {
  const auto found = left_.find({turn.micro_batch, turn.chunk});
  if (found == left_.end()) {
    throw std::invalid_argument("order: the weight gradient of micro-batch " +
                                std::to_string(turn.micro_batch) +
                                " comes before its input gradient");
  }
  const std::vector<Left> left = std::move(found->second);
  left_.erase(found);
  const Recording now = recording(turn);
  for (const Left& section : left) {
    r_.begin_section(section.section, section.block == nullptr ? -1 : section.block->layer());
    std::vector<Id> whole;
    for (const WeightGradient& gradient : section.gradients) {
      const bool cut = gradient.operand != -1;
      whole.push_back(cut ? whole_tokens(now, gradient.operand, Hiding::all_reduce) : -1);
    }
    for (std::size_t i = 0; i < whole.size(); ++i) section.gradients[i].give(now, whole[i]);
    if (section.block != nullptr) reduce_beside(turn, *section.block);
  }
}

// A bucket's gradients are all there after the last micro-batch's of the first of its blocks.
void Gpt::reduce_beside(const Turn& turn, const Block& block) {
  if (!turn.last || options_.data_reduction != DataReduction::beside_backward) return;
  for (auto bucket = block.buckets().rbegin(); bucket != block.buckets().rend(); ++bucket) {
    if ((*bucket)->complete()) (*bucket)->reduce(r_, options_);
  }
}

void Gpt::reduce() {
  std::deque<Bucket>& buckets = gradients_.of_blocks();
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    r_.begin_section("data reduction", -1);
    bucket->reduce(r_, options_);
  }
}

// The last stage knows it.
void Gpt::complete_loss() {
  if (loss_ == -1) return;
  for (Axis axis : r_.value(loss_).shape.sharding.partial.innermost_first()) {
    loss_ = r_.all_reduce(loss_, axis, Hiding::never);
  }
}

// The first stage counts a table for both that have it.
Id Gpt::norm_factor() {
  Clipping clipping(r_);
  if (!vocabulary_.empty() && vocabulary_.front().counts_squares()) {
    for (const Bucket* bucket : of_vocabulary()) clipping.count(*bucket);
  }
  const std::deque<Bucket>& buckets = gradients_.of_blocks();
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    r_.begin_section("norm", -1);
    clipping.count(*bucket);
  }
  r_.begin_section("clip", -1);
  return clipping.factor(gradients_.small);
}

std::vector<Bucket*> Gpt::of_vocabulary() const {
  return vocabulary_.empty() ? std::vector<Bucket*>() : vocabulary_.front().buckets();
}

void Gpt::finish_forward() {
  r_.begin_section("finish", -1);
  complete_loss();
  if (!stage().last()) return;
  for (Id id : {loss_, token_losses_, logits_}) {
    if (id != -1) r_.keep(id);
  }
}

void Gpt::finish() {
  if (!options_.trains()) return finish_forward();
  SmallGradients& small = gradients_.small;
  r_.begin_section("finish", -1);
  for (Bucket* bucket : of_vocabulary()) bucket->reduce(r_, options_);
  small.reduce(r_);
  complete_loss();
  const Id factor = norm_factor();
  for (const Bucket* bucket : of_vocabulary()) bucket->update(r_, factor);
  small.update(r_, factor);
  for (const Bucket& bucket : gradients_.of_blocks()) {
    r_.begin_section("update", -1);
    bucket.update(r_, factor);
  }
}

}  // namespace fourfold::inline schedule::inline models
