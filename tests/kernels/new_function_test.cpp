// A function that is only described in a test costs each backend one kernel, and both agree.
#include "tests/new_function.hpp"

#include <gtest/gtest.h>

#include "engine/cpu/reference_backend.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "tests/kernels/blocks.hpp"

namespace fourfold::tests {
namespace {

void tuned_kernel(const KernelCall& call) {
  for (std::int64_t i = 0; i < call.out().size(); ++i) {
    call.out().fp32()[i] = squared_relu(call.in(0).fp32()[i]);
  }
}

void reference_kernel(const Device&, const Op&, const reference::Operands<float>& o) {
  for (std::int64_t i = 0; i < o.output.size(); ++i) o.output[i] = squared_relu(o.inputs[0][i]);
}

TEST(NewFunction, CostsEachBackendOneKernel) {
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const Id input = r.data("input", {5, 7, {}}, Precision::fp32);
  r.map({functions::squared_relu, "output", Precision::fp32}, {input});
  const Program program = r.finish();
  const Device device{&program, {}, 0, 1, 1, 1.0};
  Block in(5, 7, Precision::fp32), tuned(5, 7, Precision::fp32), reference(5, 7, Precision::fp32);
  for (std::int64_t i = 0; i < in.size(); ++i) in.set(i, static_cast<float>(i - 17) / 4);
  TunedBackend fast;
  ReferenceBackend slow;

  EXPECT_THROW(fast.compute(device, program.ops[0], {{in.tensor()}, {}, tuned.tensor()}, {}),
               std::logic_error);
  fast.add_kernel({&functions::squared_relu, tuned_kernel});
  slow.add_kernel({&functions::squared_relu, reference_kernel});
  fast.compute(device, program.ops[0], {{in.tensor()}, {}, tuned.tensor()}, {});
  slow.compute(device, program.ops[0], {{in.tensor()}, {}, reference.tensor()}, {});

  for (std::int64_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(tuned.get(i), squared_relu(in.get(i)));
    EXPECT_EQ(tuned.get(i), reference.get(i));
  }
}

}  // namespace
}  // namespace fourfold::tests
