// Gathering of weights; see layer.hpp.
#include "schedule/models/layer.hpp"

namespace fourfold {

Id gathered(const Recording& in, const Parameter& parameter, Hiding hiding) {
  if (in.options.weight_gather == WeightGather::per_micro_batch) {
    return in.r.all_gather(parameter.weight, Axis::z, hiding);
  }
  const auto found = in.kept.find(parameter.weight);
  if (found != in.kept.end()) return found->second;
  return in.kept[parameter.weight] = in.r.all_gather(parameter.weight, Axis::z, hiding);
}

Id gathered_for_backward(const Recording& in, const Parameter& parameter, Id by_recompute) {
  if (in.options.recompute == Recompute::full) return by_recompute;
  return gathered(in, parameter, Hiding::all_gather);
}

}  // namespace fourfold
