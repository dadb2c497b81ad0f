// Sums up squares by the axes that cut gradients; see clipping.hpp.
#include "schedule/models/clipping.hpp"

#include <algorithm>
#include <map>

namespace fourfold::inline schedule::inline models {

namespace {

AxisSet without_outermost(AxisSet owed) {
  return owed.without(owed.innermost_first().back());
}

// Whether what owes `from` comes to owe `to`.
bool passes(AxisSet from, AxisSet to) {
  while (!(from == to) && !from.empty()) from = without_outermost(from);
  return from == to;
}

}  // namespace

void Clipping::count(const Bucket& bucket) {
  const Id own = bucket.square_sum(r_);
  const AxisSet cuts = r_.value(own).shape.sharding.partial;
  const auto alike = std::ranges::find(ways_, cuts, &Way::cuts);
  if (alike == ways_.end()) return ways_.push_back({own, cuts});
  alike->squares = r_.add("norm", {alike->squares, own}, Precision::fp32);
}

Id Clipping::factor(const SmallGradients& small) {
  for (AxisSet cuts : small.cuts()) {
    const auto joined = std::find_if(ways_.rbegin(), ways_.rend(),
                                     [&](const Way& way) { return passes(way.cuts, cuts); });
    if (joined == ways_.rend()) {
      ways_.push_back({-1, cuts});
    } else {
      joined->joining.push_back(cuts);
    }
  }
  std::vector<Id> sums;
  for (bool of_buckets : {true, false}) {
    Id sum = -1;
    for (const Way& way : ways_) {
      if ((way.squares != -1) != of_buckets) continue;
      const Id own = on_stage(way, small);
      sum = sum == -1 ? own : r_.add("norm", {sum, own}, Precision::fp32);
    }
    if (sum == -1) continue;
    sums.push_back(r_.stage().count > 1 ? r_.all_reduce(sum, Axis::pipe, Hiding::never) : sum);
  }
  return r_.map({functions::norm_factor, "clip_factor", Precision::fp32}, sums);
}

// All stages of a pipeline have parts of the sum.
Id Clipping::owed_by_stages(Id squares) const {
  return r_.stage().count > 1 ? r_.owe_along_pipe(squares) : squares;
}

Id Clipping::on_stage(const Way& way, const SmallGradients& small) {
  // Ways that begin with small gradients square what joins them beforehand.
  std::map<AxisSet, Id> joining;
  Id squares = way.squares;
  if (squares == -1) {
    for (AxisSet cuts : way.joining) joining[cuts] = small.square_sum(r_, cuts);
    squares = small.square_sum(r_, way.cuts);
  }
  bool by_stages = false;
  for (AxisSet owed = way.cuts;; owed = without_outermost(owed)) {
    if (std::ranges::count(way.joining, owed) > 0) {
      const auto known = joining.find(owed);
      Id own = known == joining.end() ? small.square_sum(r_, owed) : known->second;
      if (by_stages) own = owed_by_stages(own);
      squares = r_.add("norm." + words(owed), {squares, own}, Precision::fp32);
    }
    if (owed.empty()) break;
    // Said before the last one is paid.
    if (!by_stages && without_outermost(owed).empty()) {
      squares = owed_by_stages(squares);
      by_stages = true;
    }
    squares = r_.all_reduce(squares, owed.innermost_first().back(), Hiding::never);
  }
  return by_stages ? squares : owed_by_stages(squares);
}

}  // namespace fourfold::inline schedule::inline models
