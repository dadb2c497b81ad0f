// A GPT as the parts of a training step, written once: forward and backward of a micro-batch,
// reduction of gradients, clipping and AdamW; and its forward pass alone. An order says when each
// part is done (schedule/order/); everything that needs the algorithm interprets the program.
#pragma once

#include <map>
#include <vector>

#include "schedule/models/block.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/vocabulary.hpp"
#include "schedule/program/program.hpp"

namespace fourfold {

class Gpt {
 public:
  Gpt(const Model& model, const StepOptions& options, OptimizerState state);

  // Records one part. A backward must follow its forward, reduce and finish everything else.
  void record(const Turn& turn);
  Program program(const Steady& steady = {});

  // The forward pass of one micro-batch alone, whatever `options` say of micro-batches and
  // recompute: it keeps the completed "loss" (sum over the tokens) and "logits" for who reads them
  // afterwards.
  static Program evaluation(const Model& model, const StepOptions& options);

 private:
  // What the backward of one micro-batch needs.
  struct Saved {
    std::vector<Block::Saved> blocks;
    Vocabulary::Saved head;
  };

  Recording recording(const Turn& turn) { return {r_, options_, turn, kept_, gradients_}; }
  void start();
  void forward(const Turn& turn);
  void backward(const Turn& turn);
  void reduce();
  void finish();
  void complete_loss();

  StepOptions options_;
  Recorder r_;
  Gradients gradients_;
  std::map<Id, Id> kept_;
  std::vector<Vocabulary> vocabulary_;  // one; made at the start
  std::vector<Block> blocks_;
  Model model_;
  std::map<std::int64_t, Saved> saved_;  // by micro-batch in flight
  std::int64_t at_head_ = -1;            // the micro-batch whose forward was the last part
  Id tokens_ = -1, targets_ = -1, loss_ = -1;
};

}  // namespace fourfold
