// Gradients on their way from a weight product to the optimizer: each pays the sums that it owes,
// innermost axis first, into pieces where its parameter lies so and everywhere else to all. In
// between it is summed over micro-batches in fp32. Layers join once and give in every backward
// pass; the sums are the step's, not theirs.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "schedule/program/recorder.hpp"

namespace fourfold::inline schedule::inline models {

// Parameters whose gradients pay along the outermost axis that cuts tokens, data, as one: the four
// weights of a block, unless the options say how large a bucket is.
class Bucket {
 public:
  explicit Bucket(Label label, const StepOptions& options = {})
      : label_(std::move(label)), options_(options) {}

  // A matrix, rows and columns cut as `shape` says, in flat pieces along z, and with ZeRO along
  // data.
  Parameter weight(Recorder& r, const Label& label, Shape shape, WeightKind kind) const;
  std::size_t join(const Parameter& parameter);
  // The first and the last stage have a copy of its parameters each, and use them differently:
  // their gradients are summed.
  void tie_ends() { tied_ = true; }

  // Precision in which the weight product leaves a gradient of this bucket.
  static Precision product_precision(const StepOptions& options);
  // One micro-batch's gradient of member `slot`, owed along what cuts tokens. All but the outermost
  // axis is paid at once.
  void give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn, const StepOptions& o);
  // The last micro-batch's gradients are all given: what they still owe is paid.
  void reduce(Recorder& r, const StepOptions& options);
  // Whether that can be done, and has not been.
  bool complete() const { return last_given_ == sums_.size() && reduced_ == -1; }
  Id square_sum(Recorder& r) const;
  void update(Recorder& r, Id norm_factor) const {
    r.update(parameters_, reduced_, norm_factor,
             options_.has_buckets() ? Sending::together : Sending::one_by_one);
  }

 private:
  // One micro-batch's gradient of a member, which owes at most along the outermost axis.
  struct Shard {
    std::size_t slot;
    Id gradient;
  };
  void pay_outermost(Recorder& r);
  void sum_up(Recorder& r, const Shard& shard);
  void reduce_in_pieces(Recorder& r, const StepOptions& options);
  void reduce_ends(Recorder& r);

  Label label_;
  StepOptions options_;
  std::vector<Parameter> parameters_;
  std::vector<Id> sums_;
  std::vector<Shard> shards_;   // of a micro-batch, until they are paid along the outermost axis
  std::size_t last_given_ = 0;  // of the last micro-batch
  bool tied_ = false;
  Id reduced_ = -1;
};

// Small tensors (biases, norms, positions): most are replicated along what cuts tokens, so their
// gradients are summed over micro-batches locally and share one all-reduce along each of these axes
// for the whole step. Those that the same axes cut are a pack.
class SmallGradients {
 public:
  std::size_t join(const Recorder& r, const Parameter& parameter);
  void give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn);
  void reduce(Recorder& r);
  // The sets of axes that cut a pack; what nothing cuts comes last.
  std::vector<AxisSet> cuts() const;
  // Of a pack: owed along exactly the axes that cut it.
  Id square_sum(Recorder& r, AxisSet cuts) const;
  void update(Recorder& r, Id norm_factor) const;

 private:
  struct Entry {
    AxisSet cuts;
    Parameter parameter;
    Id sum = -1;
  };
  Id packed(Recorder& r, AxisSet cuts) const;

  std::vector<Entry> entries_;
  std::map<AxisSet, Id> reduced_;  // packs, by the axes that cut them
};

// "x", "uncut": what a pack of small gradients is called by.
std::string words(AxisSet cuts);

// All gradients of a step.
class Gradients {
 public:
  explicit Gradients(const StepOptions& options = {}) : options_(options) {}

  SmallGradients small;

  // A bucket of its own.
  Bucket& bucket(Label label) { return own_.emplace_back(std::move(label), options_); }
  // Those of a block, one for each of its weights: the bucket of the block before where that has
  // room for the elements of all of them; several where one is too small.
  std::vector<Bucket*> buckets_of_block(const Label& label, std::span<const Shape> weights);
  // The next block is not reduced with those before: it comes in other turns.
  void begin_chunk() { room_ = 0; }
  // Of all blocks, in their order.
  std::deque<Bucket>& of_blocks() { return of_blocks_; }

 private:
  void begin_bucket(const Label& label);

  StepOptions options_;
  std::deque<Bucket> own_, of_blocks_;  // layers keep references: a deque moves nothing
  std::int64_t room_ = 0;               // in the last bucket, elements
};

}  // namespace fourfold::inline schedule::inline models
