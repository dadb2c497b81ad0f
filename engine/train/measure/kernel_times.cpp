// Which kernels are timed at which sizes; see kernel_times.hpp.
#include "engine/train/measure/kernel_times.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "engine/cpu/fma_peak.hpp"
#include "engine/cpu/gemm_kernels.hpp"
#include "engine/train/measure/step_values.hpp"
#include "schedule/order/step.hpp"
#include "schedule/program/kernel_group.hpp"

namespace fourfold::inline engine::inline train::inline measure {
namespace {

// As the widths of transformers: multiples of 128, some of them powers of two, whose rows fall into
// the same places of a cache.
constexpr std::array<std::int64_t, 5> edges{32, 128, 384, 1024, 3072};
constexpr std::array forms{GemmForm::nn, GemmForm::nt, GemmForm::tn};
// Larger products take a second, and differ less from one time to the next.
constexpr double many_flops = 8e9;

// A step's operations at three sizes: a launch, what stays in a core's caches, what does not.
struct Workload {
  const char* size;
  Model model;
  std::int64_t sequences;
};
const std::array<Workload, 3> workloads{Workload{"tiny", {"tiny", 1, 32, 1, 4, 32}, 1},
                                        Workload{"small", {"small", 1, 208, 4, 80, 720}, 4},
                                        Workload{"large", {"large", 1, 832, 13, 208, 3600}, 4}};
constexpr std::array<std::int64_t, 4> lengths{32, 96, 288, 864};

class ProductOperands {
 public:
  explicit ProductOperands(const Product& p) : product_(tensors_of(p)) {
    std::size_t slot = 0;
    for (Tensor* t : {&product_.a, &product_.b, &product_.out}) {
      float* const numbers = memory_.floats(slot++, t->size());
      std::fill_n(numbers, t->size(), 0.5F);
      t->data = reinterpret_cast<std::byte*>(numbers);
    }
  }
  void multiply() { kernels_.multiply(product_, kernel_, scratch_, {}); }

 private:
  TensorProduct product_;
  GemmKernel kernel_ = untuned(product_of(product_));
  Scratch memory_, scratch_;
  GemmKernels kernels_;
};

// Calls `with` for every product that is timed.
template <typename With>
void each_product(const With& with) {
  for (GemmForm form : forms) {
    for (std::int64_t m : edges) {
      for (std::int64_t k : edges) {
        for (std::int64_t n : edges) with(Product{form, m, n, k});
      }
    }
  }
}

// The first operation of each kind and function of a step that is no product and no attention.
std::map<std::string, const Op*> operations(const Program& program) {
  std::map<std::string, const Op*> first;
  for (const Op& op : program.ops) {
    if (!StepValues::is_kernel(op) || kernel_group(op.kind, *op.function) != memory_group) {
      continue;
    }
    const bool map = op.kind == OpKind::map || op.kind == OpKind::reduce;
    first.try_emplace(
        map ? op.function->name : std::string(name(op.kind)) + " " + op.function->name, &op);
  }
  return first;
}

void measure_operations(Measurements& measurements) {
  TunedBackend backend;
  for (const Workload& workload : workloads) {
    const StepValues values(workload.model, workload.sequences);
    for (const auto& [name, op] : operations(values.program())) {
      const std::int64_t elements = values[op->inputs[0]].size();
      measurements.want(
          {{"kind", "operation"}, {"name", name}, {"size", workload.size}, {"elements", elements}},
          [&, which = op] {
            return on_all_ranks(measurements.world(),
                                repeated([&] { values.run(backend, *which); }, {15, 0.05}));
          });
    }
  }
}

void measure_attention(Measurements& measurements) {
  TunedBackend backend;
  for (const std::int64_t length : lengths) {
    const StepValues values({"attention", 1, 192, 3, length, 32},
                            std::max<std::int64_t>(1, 864 / length));
    std::set<std::string> seen;  // a recomputed one comes twice
    for (const Op& op : values.program().ops) {
      if (op.function->family != &functions::attention_family ||
          !seen.insert(op.function->name).second)
        continue;
      const Tensor& first = values[op.inputs[0]];
      measurements.want({{"kind", "attention"},
                         {"name", op.function->name},
                         {"sequence", length},
                         {"flops", op.function
                                       ->arithmetic(static_cast<double>(first.rows),
                                                    static_cast<double>(first.cols), op.attributes)
                                       .matrix}},
                        [&] {
                          return on_all_ranks(
                              measurements.world(),
                              repeated([&] { values.run(backend, op); }, {9, 0.05}));
                        });
    }
  }
}

Timing copy_time(const World& world, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<char> from(size, 1), to(size, 2);
  return on_all_ranks(world,
                      repeated([&] { std::memcpy(to.data(), from.data(), size); }, {9, 0.2}));
}

// In a core's caches, and in memory.
constexpr std::array<std::int64_t, 2> copied_bytes{128 << 10, 64 << 20};

}  // namespace

std::int64_t kernel_measurements() {
  std::int64_t count = 1 + std::ssize(copied_bytes);
  each_product([&](const Product&) { ++count; });
  for (const Workload& workload : workloads) {
    count += std::ssize(operations(recorded_in_fp32(workload.model)));
  }
  return count + 2 * std::ssize(lengths);
}

void measure_kernels(Measurements& measurements) {
  const World& world = measurements.world();
  measurements.want({{"kind", "fma"}, {"flops", 1.0}}, [&] {
    world.barrier();
    return on_all_ranks(world, Times{1.0 / fma_peak_flops_per_second()});
  });
  for (const std::int64_t bytes : copied_bytes) {
    measurements.want({{"kind", "copy"}, {"bytes", bytes}},
                      [&] { return copy_time(world, bytes); });
  }
  each_product([&](const Product& product) {
    measurements.want({{"kind", "product"},
                       {"form", name(product.form)},
                       {"m", product.m},
                       {"k", product.k},
                       {"n", product.n}},
                      [&] {
                        ProductOperands operands(product);
                        world.barrier();
                        return on_all_ranks(world,
                                            repeated([&] { operands.multiply(); },
                                                     {product.flops() > many_flops ? 2 : 5, 0.02}));
                      });
  });
  measure_operations(measurements);
  measure_attention(measurements);
}

std::int64_t crowding_measurements() {
  return 2;
}

void measure_crowding(Measurements& measurements) {
  const World& world = measurements.world();
  // CPU time, on all ranks at once: a stretch is longer than the system lets one rank of a core
  // wait for another, so that they take each other's caches.
  constexpr int stretches = 5, between_references = 10;
  ReferenceProduct reference;
  const auto stretched = [&](const std::function<void()>& work, int times) {
    work();
    Times means, references;
    for (int stretch = 0; stretch < stretches; ++stretch) {
      world.barrier();
      double seconds = 0.0;
      for (int i = 0; i < times; ++i) {
        const double start = processor_seconds();
        work();
        seconds += processor_seconds() - start;
        if (i % between_references == 0) references.push_back(reference.seconds());
      }
      means.push_back(seconds / times);
    }
    Timing timing = timing_of(means);
    timing.reference = timing_of(references).median;
    return on_all_ranks(world, timing);
  };
  measurements.want({{"kind", "crowd"}, {"name", "product"}}, [&] {
    ProductOperands operands({GemmForm::nn, 1040, 320, 1040});
    return stretched([&] { operands.multiply(); }, 100);
  });
  measurements.want({{"kind", "crowd"}, {"name", "map"}}, [&] {
    TunedBackend backend;
    const StepValues values(workloads[2].model, workloads[2].sequences);
    const Op* const op = operations(values.program()).at(functions::bias_gelu.name);
    return stretched([&] { values.run(backend, *op); }, 100);
  });
}

}  // namespace fourfold::inline engine::inline train::inline measure
