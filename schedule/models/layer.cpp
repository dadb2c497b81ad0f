// Gathering of weights; see layer.hpp.
#include "schedule/models/layer.hpp"

namespace fourfold::inline schedule::inline models {

Shape stream_shape(std::int64_t hidden, const StepOptions& options) {
  Shape shape{all_tokens, hidden, {token_cuts, {Axis::y}, {}, {}, Owed::sum}};
  if (options.sequence_parallel) shape.sharding.rows = shape.sharding.rows.with(Axis::x);
  return shape;
}

Id whole_tokens(const Recording& in, Id stream, Hiding hiding) {
  if (!in.options.sequence_parallel) return stream;
  return in.r.all_gather(stream, Axis::x, hiding, Direction::rows);
}

Id summed_stream(const Recording& in, Id partial, Hiding hiding) {
  if (!in.options.sequence_parallel) return in.r.all_reduce(partial, Axis::x, hiding);
  return in.r.reduce_scatter(partial, Axis::x, hiding, Direction::rows);
}

void send_stream(const Recording& in, Id stream, const Channel& channel) {
  in.r.send(in.options.cuts_messages() ? in.r.cut(stream, Axis::x) : stream, channel);
}

Id receive_stream(const Recording& in, const Label& label, std::int64_t hidden,
                  const Channel& channel) {
  Shape shape = stream_shape(hidden, in.options);
  if (!in.options.cuts_messages()) return in.r.receive(label, shape, channel);
  shape.sharding.pieces = {Axis::x};
  return in.r.all_gather(in.r.receive(label, shape, channel), Axis::x, Hiding::never);
}

namespace {

// Flat pieces put together, the innermost axis first; that gather is the one that is hidden.
Id whole(const Recording& in, Id weight, Hiding hiding) {
  const Cuts pieces = in.r.value(weight).shape.sharding.pieces;
  for (Cuts left = pieces; !left.empty(); left = left.without_innermost()) {
    weight = in.r.all_gather(weight, left.innermost(), left == pieces ? hiding : Hiding::never);
  }
  return weight;
}

Id whole_weight(const Recording& in, const Parameter& parameter, Id weight, Hiding hiding) {
  if (!in.options.gathers_masters() || parameter.master == -1) return whole(in, weight, hiding);
  const Id master = whole(in, parameter.master, hiding);
  return in.r.map(in.stored(functions::cast, in.r.value(parameter.weight).label), {master});
}

// Weights do not change within a step: whoever casts them keeps what comes out.
Id narrowed_weight(const Recording& in, Id weight) {
  if (!in.options.narrows_products()) return weight;
  const Id of_cast = -2 - weight;
  const auto found = in.kept.find(of_cast);
  if (found != in.kept.end()) return found->second;
  return in.kept[of_cast] = narrowed(in, weight);
}

}  // namespace

Id narrowed(const Recording& in, Id factor) {
  const Label label = in.r.value(factor).label + ".fp8";
  switch (in.options.products) {
    case ProductPrecision::stored:
      return factor;
    case ProductPrecision::fp8_delayed:
      return in.r.map({functions::cast_delayed, label, Precision::fp8}, {factor});
    case ProductPrecision::fp8_current:
      return in.r.map({functions::cast_current, label, Precision::fp8}, {factor});
    case ProductPrecision::mxfp8:
      return in.r.map({functions::cast_mx, label, Precision::fp8}, {factor});
  }
  return factor;
}

namespace {

Id gathered_as(const Recording& in, const Parameter& parameter, Id shard, Hiding hiding) {
  if (in.options.weight_gather != WeightGather::keep) {
    return whole_weight(in, parameter, shard, hiding);
  }
  const auto found = in.kept.find(parameter.weight);
  if (found != in.kept.end()) return found->second;
  return in.kept[parameter.weight] = whole_weight(in, parameter, shard, hiding);
}

}  // namespace

Id gathered(const Recording& in, const Parameter& parameter, Hiding hiding) {
  return gathered_as(in, parameter, parameter.weight, hiding);
}

Id gathered_factor(const Recording& in, const Parameter& parameter, Hiding hiding) {
  const bool of_master = in.options.gathers_masters() && parameter.master != -1;
  if (of_master) return narrowed(in, gathered(in, parameter, hiding));
  return gathered_as(in, parameter, narrowed_weight(in, parameter.weight), hiding);
}

Id gathered_for_backward(const Recording& in, const Parameter& parameter, Id by_recompute,
                         bool again) {
  if (in.options.recompute != Recompute::full && !again) {
    return gathered_factor(in, parameter, Hiding::all_gather);
  }
  if (in.options.weight_gather != WeightGather::per_pass) return by_recompute;
  return gathered_factor(in, parameter, Hiding::recompute_gather);
}

}  // namespace fourfold::inline schedule::inline models
