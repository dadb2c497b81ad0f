// The fast CPU backend: OpenBLAS and oneDNN behind one product, vectorised loops for all else. It
// computes in the calling thread: there is one rank a core.
#pragma once

#include <map>
#include <vector>

#include "engine/backend.hpp"
#include "engine/cpu/call.hpp"
#include "engine/cpu/gemm_kernels.hpp"
#include "engine/cpu/rotary_table.hpp"
#include "engine/cpu/scratch.hpp"
#include "engine/host_memory.hpp"

namespace fourfold::inline engine::inline cpu {

// Which kernels compute is a property of the run: without choices they are the untuned ones
// (gemm_kernels.hpp). What a program's products were tuned to (tune.hpp) is set here, on all
// ranks alike, for results to be bitwise those of a run that is resumed.
class TunedBackend : public Backend {
 public:
  TunedBackend();

  const KernelChoices& choices() const { return choices_; }
  void set_choices(KernelChoices choices);
  // Lets the libraries compile and take what these products need, so that neither the first step
  // nor its memory has to bear it.
  void prepare(const std::vector<CountedProduct>& products);

  DeviceMemory& memory() override { return memory_; }
  void compute(const Device& device, const Op& op, const KernelOperands& operands,
               const ProgressCall& progress) override;
  void update(const reference::AdamWStep& step, const UpdateOperands& operands,
              const ProgressCall& progress) override;

  // A function of one's own: its description says the rest.
  void add_kernel(const KernelOf& kernel) { of_functions_.push_back(kernel); }

  // Memory kept for kernels to work in: grows to what the largest one needs.
  std::int64_t scratch_bytes() const { return scratch_.bytes(); }

 private:
  GemmKernel kernel_of(const Product& product) const;

  KernelChoices choices_;
  std::map<Product, GemmKernel> kernels_;  // the same, to look up
  std::vector<KernelOf> of_functions_;
  GemmKernels gemm_;
  Scratch scratch_;
  RotaryTable rotary_;
  HostMemory memory_;
};

}  // namespace fourfold::inline engine::inline cpu
