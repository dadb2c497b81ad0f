// A stage of a model as the parts of a training step, written once: forward and backward of a
// micro-batch, reduction of gradients, clipping and AdamW; or forward passes alone. An order
// says when each part is done (schedule/order/); everything that needs the algorithm interprets the
// program.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedule/models/block.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/vocabulary.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline models {

class Gpt {
 public:
  Gpt(const Model& model, const StepOptions& options, const Stage& stage);

  // Records one part. A backward must follow its forward, reduce and finish everything else.
  void record(const Turn& turn);
  // The members of the stage that share collectives inside a turn agree on the next one.
  void choose();
  Program program(const std::vector<Steady>& steady = {}, const ReadyQueue& ready = {});

 private:
  // What the backward of a chunk needs of one micro-batch.
  struct Saved {
    std::vector<Block::Saved> blocks;
    Vocabulary::Saved head;
  };
  // What an input_gradient has left of a section of its pass.
  struct Left {
    std::string section;
    Block* block = nullptr;  // null at the ends of the model
    std::vector<WeightGradient> gradients;
  };
  using Pass = std::pair<std::int64_t, std::int64_t>;  // micro-batch and chunk
  // Blocks of a chunk, and where it stands among the chunks of all stages.
  struct Chunk {
    std::size_t first = 0, last = 0;  // in blocks_
    bool begins = false;              // with the embedding
    bool ends = false;                // with the head
  };

  Recording recording(const Turn& turn) { return {r_, options_, turn, kept_, gradients_}; }
  // That of a block's backward: it leaves what `pass` leaves, and a layer that is not recomputed is
  // told so.
  Recording of_block(const Recording& pass, std::size_t block);
  // Whether a block's input waits on the host for its backward.
  bool input_on_host(std::size_t block) const {
    return options_.offloads_inputs() && recomputed_[block];
  }
  Stage stage() const { return r_.stage(); }
  const Chunk& chunk(const Turn& turn) const {
    return chunks_[static_cast<std::size_t>(turn.chunk)];
  }
  // The channels by which micro-batches reach this stage, and gradients come back to it.
  Channel forward_to() const;
  Channel backward_to() const { return backward_from((stage().index + 1) % stage().count); }

  void start();
  void forward(const Turn& turn);
  void backward(const Turn& turn);
  void weight_gradient(const Turn& turn);
  void reduce_beside(const Turn& turn, const Block& block);
  void reduce();
  void finish();
  // Of a phase that trains nothing: what is read afterwards is kept.
  void finish_forward();
  void complete_loss();
  Id norm_factor();
  std::vector<Bucket*> of_vocabulary() const;

  StepOptions options_, without_recompute_;
  Recorder r_;
  Gradients gradients_;
  std::map<Id, Id> kept_;
  std::vector<Vocabulary> vocabulary_;  // one on the stages that have it; made at the start
  std::vector<Block> blocks_;
  std::vector<bool> recomputed_;  // by block
  std::vector<Chunk> chunks_;
  Model model_;
  std::map<Pass, Saved> saved_;  // in flight
  std::map<Pass, std::vector<Left>> left_;
  Pass at_head_{-1, -1};  // whose forward through the head was the last part
  Id tokens_ = -1, targets_ = -1, token_losses_ = -1, loss_ = -1, logits_ = -1;
};

// The layers of a chunk, of `chunks` that all stages have together: equally many, the rest dealt
// out from the middle of the model on, as its ends have the vocabulary's work. The first layer, and
// the first of the next chunk.
std::pair<std::int64_t, std::int64_t> layers_of_chunk(std::int64_t layers, std::int64_t chunks,
                                                      std::int64_t chunk);
// The same as the options say, of a chunk in the order of the model.
std::pair<std::int64_t, std::int64_t> layers_of_chunk(const Model& model,
                                                      const StepOptions& options,
                                                      std::int64_t stages, std::int64_t chunk);
// Of all chunks of a stage.
std::int64_t layers_of_stage(const Model& model, const StepOptions& options, const Stage& stage);
// How many of all layers are recomputed where the options ask for any recompute.
std::int64_t recomputed_layers(const Model& model, const StepOptions& options, std::int64_t stages);
// Of any chunk, at least.
std::int64_t fewest_layers(const Model& model, const StepOptions& options, std::int64_t stages);

}  // namespace fourfold::inline schedule::inline models
