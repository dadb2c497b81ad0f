// A function and a layer that Fourfold does not have: what they cost to write. The function is one
// description; each backend that is to compute it gets one kernel. The layer is this file alone.
#pragma once

#include "schedule/models/linear.hpp"
#include "schedule/program/function.hpp"

namespace fourfold::inline schedule::inline program::functions {

// f(x) = x^2 where x > 0, else 0, and its derivative times what comes from above.
inline constexpr Function squared_relu{"squared_relu"};
inline constexpr Function squared_relu_backward{"squared_relu_backward"};

}  // namespace fourfold::inline schedule::inline program::functions

namespace fourfold::tests {

template <typename T>
T squared_relu(T value) {
  return value > T{} ? value * value : T{};
}

// Up by a factor of two, squared ReLU, down again: columns cut by y, then x, then y.
class SquaredReluMlp {
 public:
  struct Saved {
    Linear::Saved up, down;
    Id between = -1;
  };

  SquaredReluMlp(Recorder& r, std::int64_t hidden, Bucket& bucket)
      : up_(r, "up", weight_shape(hidden, 2 * hidden, Axis::y, Axis::x), WeightKind::matrix,
            bucket),
        down_(r, "down", weight_shape(2 * hidden, hidden, Axis::x, Axis::y), WeightKind::matrix,
              bucket) {}

  Forward<Saved> forward(const Recording& in, Id input) const {
    const auto up = up_.forward(in, input, Hiding::all_gather);
    const Id activated = in.r.map(in.stored(functions::squared_relu, "activated"), {up.output});
    const auto down = down_.forward(in, activated, Hiding::all_gather);
    return {down.output, {up.saved, down.saved, up.output}};
  }
  Id backward(const Recording& in, const Saved& saved, Id gradient) const {
    const Id activated = down_.backward(in, saved.down, gradient);
    const Id between = in.r.map(in.stored(functions::squared_relu_backward, "dbetween"),
                                {activated, saved.between});
    return up_.backward(in, saved.up, between);
  }

 private:
  Linear up_, down_;
};

}  // namespace fourfold::tests
