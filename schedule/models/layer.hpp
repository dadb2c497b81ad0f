// What layers have in common: they are functions of a pass. Forward returns what backward needs,
// and no layer holds the state of a micro-batch, so that any order of passes can be recorded.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schedule/models/gradients.hpp"
#include "schedule/program/recorder.hpp"

namespace fourfold::inline schedule::inline models {

struct Recording;

// The gradients of weights that a backward has left for a later turn.
struct WeightGradient {
  Id operand = -1;  // whose tokens are put together before anything else is done; -1: none's
  std::function<void(const Recording&, Id whole)> give;
};

// One turn of the order as layers see it: where they write, under which options, for which
// micro-batch, with the weights that stay gathered and the sums of gradients of the whole step.
struct Recording {
  Recorder& r;
  const StepOptions& options;
  const Turn& turn;
  std::map<Id, Id>& kept;  // by weight, with WeightGather::keep
  Gradients& gradients;
  // Where a backward leaves its gradients of weights; null: it gives them itself.
  std::vector<WeightGradient>* left = nullptr;

  // Gradients of weights: nothing but the update waits for them.
  void weight_gradient(WeightGradient gradient) const {
    if (left == nullptr) return gradient.give(*this, gradient.operand);
    left->push_back(std::move(gradient));
  }

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

// What passes between blocks: tokens x hidden, columns cut by y; rows by x, too, where sequences
// are parallel.
Shape stream_shape(std::int64_t hidden, const StepOptions& options);
// Tokens that are cut by x put together, if they are: before a product. And a sum along x kept by
// tokens, or everywhere: after one.
Id whole_tokens(const Recording& in, Id stream, Hiding hiding);
Id summed_stream(const Recording& in, Id partial, Hiding hiding);

// A stream to the next stage of a channel, and from the one before: whole, or a piece along x from
// each device.
void send_stream(const Recording& in, Id stream, const Channel& channel);
Id receive_stream(const Recording& in, const Label& label, std::int64_t hidden,
                  const Channel& channel);

// A factor of a product as the step multiplies it: cast to 8 bits, or as it is.
Id narrowed(const Recording& in, Id factor);
// A weight that is used whole: gathered along what cuts it in pieces, anew or once a step.
Id gathered(const Recording& in, const Parameter& parameter, Hiding hiding);
// The same of a weight whose products have narrow factors: cast once a step, and gathered so.
Id gathered_factor(const Recording& in, const Parameter& parameter, Hiding hiding);
// The gathered weight backward uses: what recompute gathered, or a gather of its own.
// `again`: a layer of a block that is not recomputed as a whole was.
Id gathered_for_backward(const Recording& in, const Parameter& parameter, Id by_recompute,
                         bool again = false);

}  // namespace fourfold::inline schedule::inline models
