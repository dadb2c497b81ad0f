// Gradients on their way from a weight product to the optimizer: reduced along z, summed over
// micro-batches in fp32, reduced along data (with ZeRO in pieces), clipped, applied. Layers join
// once and give in every backward pass; the sums are the step's, not theirs.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "schedule/program/recorder.hpp"

namespace fourfold {

// Parameters whose gradients are all-reduced along data as one bucket: the four weights of a block.
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
  Id square_sum(Recorder& r) const;
  void update(Recorder& r, Id norm_factor) const { r.update(parameters_, reduced_, norm_factor); }

 private:
  void reduce_in_pieces(Recorder& r, const StepOptions& options);
  void reduce_ends(Recorder& r);

  Label label_;
  StepOptions options_;
  std::vector<Parameter> parameters_;
  std::vector<Id> sums_;
  bool tied_ = false;
  Id reduced_ = -1;
};

// Small tensors (biases, norms, positions): replicated along z, so their gradients are summed over
// micro-batches locally and share one all-reduce along z and one along data for the whole step.
class SmallGradients {
 public:
  // `axis` cuts the columns of the parameter.
  std::size_t join(Axis axis, const Parameter& parameter);
  void give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn);
  void reduce(Recorder& r);
  // Squares owed along x of the x-cut tensors, along y of the y-cut ones.
  Id square_sum(Recorder& r, Axis axis) const;
  void update(Recorder& r, Id norm_factor) const;

 private:
  struct Entry {
    Axis axis;
    Parameter parameter;
    Id sum = -1;
  };
  std::vector<Entry> entries_;
  std::vector<Id> reduced_;  // x-cut pack, y-cut pack
};

// All gradients of a step.
struct Gradients {
  StepOptions options;
  std::deque<Bucket> buckets;  // layers keep references: a deque moves nothing
  SmallGradients small;

  Bucket& bucket(Label label) { return buckets.emplace_back(std::move(label), options); }
};

}  // namespace fourfold
