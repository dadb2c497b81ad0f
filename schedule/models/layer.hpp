// What layers have in common: they are functions of a pass. Forward returns what backward needs,
// and no layer holds the state of a micro-batch, so that any order of passes can be recorded.
#pragma once

#include <map>
#include <string>

#include "schedule/models/gradients.hpp"
#include "schedule/program/recorder.hpp"

namespace fourfold {

// One turn of the order as layers see it: where they write, under which options, for which
// micro-batch, with the weights that stay gathered and the sums of gradients of the whole step.
struct Recording {
  Recorder& r;
  const StepOptions& options;
  const Turn& turn;
  std::map<Id, Id>& kept;  // by weight, with WeightGather::keep
  Gradients& gradients;

  // A result of the storage precision.
  Result stored(const Function& function, const Label& label) const {
    return {function, label, r.storage()};
  }
};

// What a layer's forward returns: its output, and what its backward will ask for.
template <typename Saved>
struct Forward {
  Id output = -1;
  Saved saved;
};

// What passes between blocks: tokens x hidden, columns cut by y; rows by x, too, where sequences are
// parallel.
Shape stream_shape(std::int64_t hidden, const StepOptions& options);
// Tokens that are cut by x put together, if they are: before a product. And a sum along x kept by
// tokens, or everywhere: after one.
Id whole_tokens(const Recording& in, Id stream, Hiding hiding);
Id summed_stream(const Recording& in, Id partial, Hiding hiding);

// A weight that is used whole: gathered along z anew, or once a step.
Id gathered(const Recording& in, const Parameter& parameter, Hiding hiding);
// The gathered weight backward uses: what recompute gathered, or a gather of its own.
Id gathered_for_backward(const Recording& in, const Parameter& parameter, Id by_recompute);

}  // namespace fourfold
