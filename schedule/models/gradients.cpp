// Recording of the gradients' way to the optimizer; see gradients.hpp.
#include "schedule/models/gradients.hpp"

#include <algorithm>
#include <set>

namespace fourfold::inline schedule::inline models {

namespace {

// The axis whose sums wait for the last micro-batch, unless gradients are cut along it.
constexpr Axis outermost = *token_cuts.begin();

// Axes of one stage along which a gradient owes a sum, innermost first. What the ends of a pipeline
// owe each other comes last of all.
std::vector<Axis> owed(const Recorder& r, Id gradient) {
  return r.value(gradient).shape.sharding.partial.without(Axis::pipe).innermost_first();
}

bool owes_outermost(const Recorder& r, Id gradient) {
  return r.value(gradient).shape.sharding.partial.contains(outermost);
}

// Whether a device updates a piece of the parameter along the axis, and not all of it.
bool keeps_pieces(const Recorder& r, const Parameter& parameter, Axis axis) {
  return r.value(parameter.master).shape.sharding.pieces.contains(axis);
}

Id paid(Recorder& r, Id gradient, Axis axis, const Parameter& parameter, Hiding hiding) {
  return keeps_pieces(r, parameter, axis) ? r.reduce_scatter(gradient, axis, hiding)
                                          : r.all_reduce(gradient, axis, hiding);
}

}  // namespace

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
  for (Axis axis : owed(r, gradient)) {
    if (axis != outermost) gradient = paid(r, gradient, axis, parameters_[slot], hiding);
  }
  const Shard shard{slot, gradient};
  if (!options.cuts_gradients()) return sum_up(r, shard);
  shards_.push_back(shard);
  if (!options.has_buckets() || shards_.size() == sums_.size()) pay_outermost(r);
}

void Bucket::pay_outermost(Recorder& r) {
  std::vector<Id> gradients;
  for (const Shard& shard : shards_) gradients.push_back(shard.gradient);
  const std::vector<Id> pieces = r.reduce_scatter(gradients, outermost, Hiding::reduce_scatter);
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
  const bool owes = owes_outermost(r, sums_.front());  // or has paid for each micro-batch
  std::vector<Id> pieces, sent;
  for (std::size_t slot = 0; slot < sums_.size() && owes; ++slot) {
    Id sum = sums_[slot];
    if (options.reduce_precision_data() == Precision::bf16) {
      sum = r.map({functions::cast, r.value(sum).label, Precision::bf16}, {sum});
      r.defer_last();
    }
    sent.push_back(sum);
    if (options.has_buckets() && slot + 1 < sums_.size()) continue;
    for (Id piece : r.reduce_scatter(sent, outermost, Hiding::data_reduce)) {
      pieces.push_back(piece);
    }
    r.defer_last();
    sent.clear();
  }
  reduced_ = r.pack(label_, owes ? pieces : sums_);
  r.defer_last();
}

void Bucket::reduce(Recorder& r, const StepOptions& options) {
  if (keeps_pieces(r, parameters_.front(), outermost)) {
    reduce_in_pieces(r, options);
    return reduce_ends(r);
  }
  reduced_ = r.pack(label_, sums_);
  r.defer_last();
  if (options.reduce_precision_data() == Precision::bf16) {
    reduced_ = r.map({functions::cast, label_, Precision::bf16}, {reduced_});
    r.defer_last();
  }
  reduced_ = r.all_reduce(reduced_, outermost, Hiding::data_reduce);
  r.defer_last();
  reduce_ends(r);
}

void Bucket::reduce_ends(Recorder& r) {
  if (!tied_) return;
  reduced_ = r.all_reduce_ends(reduced_, Hiding::data_reduce);
  r.defer_last();
}

std::vector<Bucket*> Gradients::buckets_of_block(const Label& label,
                                                 std::span<const Shape> weights) {
  std::int64_t all = 0;
  for (const Shape& weight : weights) all += weight.local_elements({}, {});
  bool fresh = all > room_;
  if (fresh) begin_bucket(label);
  std::vector<Bucket*> buckets;
  for (const Shape& weight : weights) {
    const std::int64_t elements = weight.local_elements({}, {});
    if (options_.has_buckets() && !fresh && elements > room_) begin_bucket(label);
    buckets.push_back(&of_blocks_.back());
    room_ -= elements;
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

std::size_t SmallGradients::join(const Recorder& r, const Parameter& parameter) {
  entries_.push_back({r.cuts(parameter.weight), parameter, -1});
  return entries_.size() - 1;
}

void SmallGradients::give(Recorder& r, std::size_t slot, Id gradient, const Turn& turn) {
  Id& sum = entries_[slot].sum;
  sum = turn.first ? gradient : r.add(r.value(gradient).label, {sum, gradient}, Precision::fp32);
}

std::vector<AxisSet> SmallGradients::cuts() const {
  std::set<AxisSet> sets;
  for (const Entry& entry : entries_) sets.insert(entry.cuts);
  std::vector<AxisSet> result(sets.begin(), sets.end());
  if (!result.empty() && result.front().empty()) std::ranges::rotate(result, result.begin() + 1);
  return result;
}

std::string words(AxisSet cuts) {
  std::string text;
  for (Axis axis : cuts.innermost_first()) text.append(text.empty() ? "" : "_").append(name(axis));
  return text.empty() ? "uncut" : text;
}

// What lies in pieces is kept so, each in pieces of its own.
Id SmallGradients::packed(Recorder& r, AxisSet cuts) const {
  std::vector<Id> members;
  Cuts pieces;
  for (const Entry& entry : entries_) {
    if (!(entry.cuts == cuts)) continue;
    members.push_back(entry.sum);
    pieces = r.value(entry.parameter.master).shape.sharding.pieces;
  }
  for (Axis axis : pieces) members = r.reduce_scatter(members, axis, Hiding::never);
  return r.pack("small." + words(cuts), members);
}

void SmallGradients::reduce(Recorder& r) {
  const std::vector<AxisSet> sets = cuts();
  std::vector<Id> packs;
  for (AxisSet set : sets) packs.push_back(packed(r, set));
  // All owe what cuts tokens. Where these are cut by x besides, what stands outside the pairs of
  // products is summed along it, too; and what all heads share.
  for (Id& pack : packs) {
    for (Axis axis : owed(r, pack)) {
      if (!token_cuts.contains(axis)) pack = r.all_reduce(pack, axis, Hiding::never);
    }
  }
  for (std::size_t first = 0; first < packs.size(); ++first) {
    if (reduced_.contains(sets[first])) continue;
    std::vector<std::size_t> alike;
    std::vector<Id> members;
    for (std::size_t i = first; i < packs.size(); ++i) {
      if (!(r.value(packs[i]).shape.sharding == r.value(packs[first]).shape.sharding)) continue;
      alike.push_back(i);
      members.push_back(packs[i]);
    }
    Id all = r.pack("small", members);
    for (Axis axis : owed(r, all)) all = r.all_reduce(all, axis, Hiding::data_reduce);
    const std::vector<Id> reduced = r.unpack(all);
    for (std::size_t i = 0; i < alike.size(); ++i) reduced_[sets[alike[i]]] = reduced[i];
  }
}

Id SmallGradients::square_sum(Recorder& r, AxisSet cuts) const {
  const std::string label = "small." + words(cuts) + ".norm";
  return r.reduce({functions::square_sum, label, Precision::fp32}, {reduced_.at(cuts)});
}

void SmallGradients::update(Recorder& r, Id norm_factor) const {
  for (const auto& [cuts, pack] : reduced_) {
    std::vector<Parameter> parameters;
    for (const Entry& entry : entries_) {
      if (entry.cuts == cuts) parameters.push_back(entry.parameter);
    }
    r.update(parameters, pack, norm_factor);
  }
}

}  // namespace fourfold::inline schedule::inline models
