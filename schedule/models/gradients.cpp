// Recording of the gradients' way to the optimizer; see gradients.hpp.
#include "schedule/models/gradients.hpp"

#include <algorithm>

namespace fourfold::inline schedule::inline models {

Parameter Bucket::weight(Recorder& r, const Label& label, Shape shape, WeightKind kind) const {
  shape.sharding.pieces = {Axis::z};
  Shape state = shape;
  if (options_.cuts_optimizer()) state.sharding.pieces = {Axis::z, Axis::data};
  return r.parameter(label, options_.cuts_weights() ? state : shape, kind, state);
}

std::size_t Bucket::join(const Parameter& parameter) {
  parameters_.push_back(parameter);
  sums_.push_back(-1);
  return parameters_.size() - 1;
}

Precision Bucket::product_precision(const StepOptions& options) {
  const bool summed_first =
      options.gradient_reduction == GradientReduction::accumulated && options.micro_batches > 1;
  return summed_first ? Precision::fp32 : options.reduce_precision_z();
}

void Bucket::give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn,
                  const StepOptions& options) {
  const Label name = r.value(gradient).label;
  if (tied_) gradient = r.owe_along_pipe(gradient);
  Id& sum = sums_[slot];
  if (options.gradient_reduction == GradientReduction::accumulated) {
    sum = turn.first ? gradient : r.add(name, {sum, gradient}, Precision::fp32);
    if (!turn.last) return;
    gradient = sum;
    if (r.value(gradient).precision != options.reduce_precision_z()) {
      gradient = r.map({functions::cast, name, options.reduce_precision_z()}, {gradient});
    }
    sum = -1;
  }
  if (turn.last) ++last_given_;
  // With ZeRO 2 and 3 the reduction along data is what runs beside the backward pass.
  const Hiding hiding = options.cuts_gradients() ? Hiding::never : Hiding::reduce_scatter;
  const Shard shard{slot, r.reduce_scatter(gradient, Axis::z, hiding)};
  if (!options.cuts_gradients()) return sum_up(r, shard);
  shards_.push_back(shard);
  if (!options.has_buckets() || shards_.size() == sums_.size()) cut_along_data(r);
}

void Bucket::cut_along_data(Recorder& r) {
  std::vector<Id> gradients;
  for (const Shard& shard : shards_) gradients.push_back(shard.gradient);
  const std::vector<Id> pieces = r.reduce_scatter(gradients, Axis::data, Hiding::reduce_scatter);
  for (std::size_t i = 0; i < pieces.size(); ++i) sum_up(r, {shards_[i].slot, pieces[i]});
  shards_.clear();
}

void Bucket::sum_up(Recorder& r, const Shard& shard) {
  const Value& gradient = r.value(shard.gradient);
  Id& sum = sums_[shard.slot];
  if (sum == -1 && gradient.precision == Precision::fp32) {
    sum = shard.gradient;
    return;
  }
  const Label name = gradient.label;
  sum = sum == -1 ? r.map({functions::cast, name, Precision::fp32}, {shard.gradient})
                  : r.add(name, {sum, shard.gradient}, Precision::fp32);
  r.defer_last();
}

void Bucket::reduce_in_pieces(Recorder& r, const StepOptions& options) {
  std::vector<Id> pieces, sent;
  for (std::size_t slot = 0; slot < sums_.size() && !options.cuts_gradients(); ++slot) {
    Id sum = sums_[slot];
    if (options.reduce_precision_data() == Precision::bf16) {
      sum = r.map({functions::cast, r.value(sum).label, Precision::bf16}, {sum});
      r.defer_last();
    }
    sent.push_back(sum);
    if (options.has_buckets() && slot + 1 < sums_.size()) continue;
    for (Id piece : r.reduce_scatter(sent, Axis::data, Hiding::data_reduce)) {
      pieces.push_back(piece);
    }
    r.defer_last();
    sent.clear();
  }
  reduced_ = r.pack(label_, options.cuts_gradients() ? sums_ : pieces);
  r.defer_last();
}

void Bucket::reduce(Recorder& r, const StepOptions& options) {
  if (options.cuts_optimizer()) {
    reduce_in_pieces(r, options);
    return reduce_ends(r);
  }
  reduced_ = r.pack(label_, sums_);
  r.defer_last();
  if (options.reduce_precision_data() == Precision::bf16) {
    reduced_ = r.map({functions::cast, label_, Precision::bf16}, {reduced_});
    r.defer_last();
  }
  reduced_ = r.all_reduce(reduced_, Axis::data, Hiding::data_reduce);
  r.defer_last();
  reduce_ends(r);
}

void Bucket::reduce_ends(Recorder& r) {
  if (!tied_) return;
  reduced_ = r.all_reduce_ends(reduced_, Hiding::data_reduce);
  r.defer_last();
}

namespace {

std::int64_t elements(const Shape& weight) {
  return weight.rows.value({}) * weight.cols.value({});
}

}  // namespace

std::vector<Bucket*> Gradients::buckets_of_block(const Label& label,
                                                 std::span<const Shape> weights) {
  std::int64_t all = 0;
  for (const Shape& weight : weights) all += elements(weight);
  bool fresh = all > room_;
  if (fresh) begin_bucket(label);
  std::vector<Bucket*> buckets;
  for (const Shape& weight : weights) {
    if (options_.has_buckets() && !fresh && elements(weight) > room_) begin_bucket(label);
    buckets.push_back(&of_blocks_.back());
    room_ -= elements(weight);
    fresh = false;
  }
  return buckets;
}

void Gradients::begin_bucket(const Label& label) {
  of_blocks_.emplace_back(label, options_);
  room_ = options_.data_bucket;
}

Id Bucket::square_sum(Recorder& r) const {
  return r.reduce({functions::square_sum, label_ + ".norm", Precision::fp32}, {reduced_});
}

std::size_t SmallGradients::join(std::optional<Axis> axis, const Parameter& parameter) {
  entries_.push_back({axis, parameter, -1});
  return entries_.size() - 1;
}

void SmallGradients::give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn) {
  Id& sum = entries_[slot].sum;
  sum = turn.first ? gradient : r.add(r.value(gradient).label, {sum, gradient}, Precision::fp32);
}

bool SmallGradients::has(std::optional<Axis> axis) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.axis == axis; });
}

namespace {

std::string pack_name(std::optional<Axis> axis) {
  return std::string("small.") + (axis ? name(*axis) : "uncut");
}

}  // namespace

void SmallGradients::reduce(Recorder& r) {
  std::vector<Id> packs;
  std::vector<std::optional<Axis>> axes;
  for (std::optional<Axis> axis :
       {std::optional(Axis::x), std::optional(Axis::y), std::optional<Axis>()}) {
    if (!has(axis)) continue;
    axes.push_back(axis);
    std::vector<Id> members;
    for (const Entry& entry : entries_) {
      if (entry.axis == axis) members.push_back(entry.sum);
    }
    packs.push_back(r.pack(pack_name(axis), members));
  }
  // Where tokens are cut by x, what stands outside the pairs of products is summed along it, too;
  // and what all heads share.
  for (Id& outside : packs) {
    if (!r.value(outside).shape.sharding.partial.contains(Axis::x)) continue;
    outside = r.all_reduce(outside, Axis::x, Hiding::never);
  }
  Id all = r.pack("small", packs);
  all = r.all_reduce(all, Axis::z, Hiding::data_reduce);
  all = r.all_reduce(all, Axis::data, Hiding::data_reduce);
  const std::vector<Id> reduced = r.unpack(all);
  for (std::size_t i = 0; i < axes.size(); ++i) reduced_[axes[i]] = reduced[i];
}

Id SmallGradients::square_sum(Recorder& r, std::optional<Axis> axis) const {
  const std::string label = pack_name(axis) + ".norm";
  return r.reduce({functions::square_sum, label, Precision::fp32}, {reduced_.at(axis)});
}

void SmallGradients::update(Recorder& r, Id norm_factor) const {
  for (const auto& [axis, pack] : reduced_) {
    std::vector<Parameter> parameters;
    for (const Entry& entry : entries_) {
      if (entry.axis == axis) parameters.push_back(entry.parameter);
    }
    r.update(parameters, pack, norm_factor);
  }
}

}  // namespace fourfold::inline schedule::inline models
