// Gradients on their way from a weight product to the optimizer: reduced along z, summed over
// micro-batches in fp32, reduced along data (with ZeRO in pieces), clipped, applied. Layers join
// once and give in every backward pass; the sums are the step's, not theirs.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/program/recorder.hpp"

namespace fourfold::inline schedule::inline models {

// Parameters whose gradients are all-reduced along data as one: the four weights of a block, unless
// the options say how large a bucket is.
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
  // One micro-batch's gradient of member `slot`, owed along z and data.
  void give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn, const StepOptions& o);
  // The last micro-batch's gradients are all given: all-reduce along data, or reduce-scatter.
  void reduce(Recorder& r, const StepOptions& options);
  // Whether that can be done, and has not been.
  bool complete() const { return last_given_ == sums_.size() && reduced_ == -1; }
  Id square_sum(Recorder& r) const;
  void update(Recorder& r, Id norm_factor) const {
    r.update(parameters_, reduced_, norm_factor,
             options_.has_buckets() ? Sending::together : Sending::one_by_one);
  }

 private:
  // One micro-batch's gradient of a member, reduced along z.
  struct Shard {
    std::size_t slot;
    Id gradient;
  };
  void cut_along_data(Recorder& r);
  void sum_up(Recorder& r, const Shard& shard);
  void reduce_in_pieces(Recorder& r, const StepOptions& options);
  void reduce_ends(Recorder& r);

  Label label_;
  StepOptions options_;
  std::vector<Parameter> parameters_;
  std::vector<Id> sums_;
  std::vector<Shard> shards_;   // of a micro-batch, until they are reduced along data
  std::size_t last_given_ = 0;  // of the last micro-batch
  bool tied_ = false;
  Id reduced_ = -1;
};

// Small tensors (biases, norms, positions): replicated along z, so their gradients are summed over
// micro-batches locally and share one all-reduce along z and one along data for the whole step.
class SmallGradients {
 public:
  // `axis` cuts the columns of the parameter; none: all devices along x and y have all of it.
  std::size_t join(std::optional<Axis> axis, const Parameter& parameter);
  void give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn);
  void reduce(Recorder& r);
  // Whether any are cut along the axis: along y the norms are.
  bool has(std::optional<Axis> axis) const;
  // Squares owed along x of the x-cut tensors, along y of the y-cut ones, of uncut ones nowhere.
  Id square_sum(Recorder& r, std::optional<Axis> axis) const;
  void update(Recorder& r, Id norm_factor) const;

 private:
  struct Entry {
    std::optional<Axis> axis;
    Parameter parameter;
    Id sum = -1;
  };
  std::vector<Entry> entries_;
  std::map<std::optional<Axis>, Id> reduced_;  // packs, by the axis that cuts them
};

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
