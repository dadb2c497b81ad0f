// Gathering of weights; see layer.hpp.
#include "schedule/models/layer.hpp"

namespace fourfold::inline schedule::inline models {

Shape stream_shape(std::int64_t hidden, const StepOptions& options) {
  Shape shape{all_tokens, hidden, {{Axis::data, Axis::z}, {Axis::y}, {}, {}, Owed::sum}};
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

// What is cut along data besides is gathered there first; that gather is the one that is hidden.
Id whole_weight(const Recording& in, Id weight, Hiding hiding) {
  if (!in.options.cuts_weights()) return in.r.all_gather(weight, Axis::z, hiding);
  return in.r.all_gather(in.r.all_gather(weight, Axis::data, hiding), Axis::z, Hiding::never);
}

}  // namespace

Id gathered(const Recording& in, const Parameter& parameter, Hiding hiding) {
  if (in.options.weight_gather == WeightGather::per_micro_batch) {
    return whole_weight(in, parameter.weight, hiding);
  }
  const auto found = in.kept.find(parameter.weight);
  if (found != in.kept.end()) return found->second;
  return in.kept[parameter.weight] = whole_weight(in, parameter.weight, hiding);
}

Id gathered_for_backward(const Recording& in, const Parameter& parameter, Id by_recompute) {
  if (in.options.recompute == Recompute::full) return by_recompute;
  return gathered(in, parameter, Hiding::all_gather);
}

}  // namespace fourfold::inline schedule::inline models
