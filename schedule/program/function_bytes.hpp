// What a framework keeps and makes of one function beside the step's own buffers.
#pragma once

namespace fourfold::inline schedule::inline program {

struct Function;

// In bytes for each element of the function's first operand.
struct FunctionBytes {
  const Function* function = nullptr;
  double keeps = 0.0;    // beside its operands and its result, until its backward pass
  double gathers = 0.0;  // of each of the others that cut its tokens along x
  double expands = 0.0;  // of keys and values, copied until every head has its own
  double makes = 0.0;    // while it computes
};

}  // namespace fourfold::inline schedule::inline program
