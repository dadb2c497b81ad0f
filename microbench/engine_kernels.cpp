// How close our kernels come to the core's FMA peak: each product of two GPTs in both libraries and
// three forms, every other kind of operation in ns per element, and all of a step's kernels in a
// row. Questions and answers: README.md.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>

#include "engine/cpu/fma_peak.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/cpu/tune.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "engine/train/measure/step_values.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline microbench {
namespace {

// The GPT of the comparison with PyTorch and llm.c, and one with matrices as a larger model's rank
// has them.
struct Workload {
  Model model;
  std::int64_t sequences = 1;
  std::int64_t tokens() const { return sequences * model.sequence; }
};
const Workload mini{{"mini", 6, 384, 6, 256, 8192}, 4};
const Workload larger{{"larger", 1, 1024, 16, 512, 16'384}, 2};

StepOptions options(Precision precision) {
  StepOptions result;
  result.precision = precision;
  result.recompute = Recompute::none;
  return result;
}

// CPU time of this thread: what neighbours on the machine take is not counted.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One product; the peak is measured before and after it, so that both feel the same neighbours.
void gemm(benchmark::State& state, const Product& p, const GemmKernel& kernel) {
  const bool tn = p.form == GemmForm::tn, nt = p.form == GemmForm::nt;
  std::array<Scratch, 3> memory;
  const auto tensor = [&memory](std::size_t i, std::int64_t rows, std::int64_t cols, Precision q) {
    float* const numbers = memory[i].floats(0, rows * cols);
    std::fill_n(numbers, rows * cols, 1.0F);
    return Tensor{reinterpret_cast<std::byte*>(numbers), rows, cols, q};
  };
  const TensorProduct product{p.form, tensor(0, tn ? p.k : p.m, tn ? p.m : p.k, p.a),
                              tensor(1, nt ? p.n : p.k, nt ? p.k : p.n, p.b),
                              tensor(2, p.m, p.n, p.out)};
  Scratch scratch;
  GemmKernels kernels;
  kernels.multiply(product, kernel, scratch, {});
  double shortest = INFINITY, peak = fma_peak_flops_per_second();
  for (auto _ : state) {
    const double start = seconds_now();
    kernels.multiply(product, kernel, scratch, {});
    shortest = std::min(shortest, seconds_now() - start);
  }
  peak = std::max(peak, fma_peak_flops_per_second());
  state.counters["%peak"] = 100 * p.flops() / shortest / peak;
}

// One operation of mini's step, as often as asked for; ns per element of its largest operand.
void operation(benchmark::State& state, const StepValues& values, const Op& op) {
  TunedBackend backend;
  std::int64_t elements = values[op.outputs[0]].size();
  for (Id input : op.inputs) elements = std::max(elements, values[input].size());
  for (auto _ : state) values.run(backend, op);
  state.counters["ns/element"] = benchmark::Counter(
      1e-9 * static_cast<double>(elements),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// All kernels of a step in the program's order, tuned; what is not in it are collectives. Each
// operation counts with its shortest run. Flops by Narayanan et al., SC21, eq. 3, without
// recompute, attention in full.
void step(benchmark::State& state, const Workload& workload, Precision precision) {
  const StepValues values(workload.model, workload.sequences, options(precision));
  TunedBackend backend;
  backend.set_choices(tuned(products(values.program(), {}, values.tokens())));
  double peak = 0.0;
  const std::vector<Op>& ops = values.program().ops;
  std::vector<double> shortest(ops.size(), INFINITY);
  for (auto _ : state) {
    peak = std::max(peak, fma_peak_flops_per_second());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!StepValues::is_kernel(ops[i])) continue;
      const double start = seconds_now();
      values.run(backend, ops[i]);
      shortest[i] = std::min(shortest[i], seconds_now() - start);
    }
  }
  std::map<std::string, double> shares;
  double total = 0.0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!StepValues::is_kernel(ops[i])) continue;
    shares[name(ops[i].kind)] += shortest[i];
    total += shortest[i];
  }
  for (const auto& [kind, seconds] : shares) state.counters["%" + kind] = 100 * seconds / total;
  const Flops flops = model_flops(workload.model, workload.sequences, Recompute::none);
  state.counters["%peak"] = 100 * flops.value / total / peak;
  state.counters["ms"] = 1e3 * total;
  state.counters["peak_Gflop/s"] = 1e-9 * peak;
}

void register_products(const Workload& workload, Precision precision) {
  const Program program = record_step(workload.model, options(precision));
  for (const CountedProduct& counted : products(program, {}, workload.tokens())) {
    for (const GemmKernel& kernel : candidates(counted.product)) {
      const std::string label =
          "gemm/" + workload.model.name + "/" + counted.product.str() + "/" + text_of(kernel);
      benchmark::RegisterBenchmark(label.c_str(), gemm, counted.product, kernel)
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

void register_operations(const StepValues& values, Precision precision) {
  std::map<std::string, const Op*> first;
  for (const Op& op : values.program().ops) {
    if (!StepValues::is_kernel(op) || op.kind == OpKind::gemm) continue;
    first.try_emplace(std::string(name(op.kind)) + " " + op.function->name, &op);
  }
  for (const auto& [label, op] : first) {
    benchmark::RegisterBenchmark(
        ("operation/" + std::string(name(precision)) + "/" + label).c_str(),
        [&values, op](benchmark::State& state) { operation(state, values, *op); })
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace fourfold::inline microbench

int main(int argc, char** argv) {
  using namespace fourfold;
  repair_openblas_core(CoreWish::repair);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("blas", blas_report());
  benchmark::AddCustomContext("vectors", fma_peak_vectors());
  use_one_thread();
  const StepValues in_fp32(mini.model, mini.sequences, options(Precision::fp32));
  const StepValues in_bf16(mini.model, mini.sequences, options(Precision::bf16));
  for (const Workload& workload : {mini, larger}) register_products(workload, Precision::fp32);
  register_products(mini, Precision::bf16);
  register_operations(in_fp32, Precision::fp32);
  register_operations(in_bf16, Precision::bf16);
  for (Precision precision : {Precision::fp32, Precision::bf16}) {
    benchmark::RegisterBenchmark((std::string("step/mini/") + name(precision)).c_str(), step, mini,
                                 precision)
        ->Iterations(10)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
