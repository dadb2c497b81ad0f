// Products, kernels bound by memory, and attention, each in turns with the peak that it is compared
// with; see kernels.hpp.
#include "bench/kinds/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "bench/kinds/gathered.hpp"
#include "bench/measure/product.hpp"
#include "bench/measure/slow_down.hpp"
#include "bench/measure/stream.hpp"
#include "bench/measure/turns.hpp"
#include "engine/cpu/fma_peak.hpp"
#include "engine/train/measure/step_values.hpp"
#include "engine/train/run/world.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline bench::inline kinds {

namespace {

constexpr double sample_seconds = 2e-3;  // at least so long, where a kernel is short
constexpr double giga = 1e-9;

StepOptions options_of(const BenchQuestion& question) {
  StepOptions options;
  options.precision = question.precision;
  options.recompute = Recompute::none;
  return options;
}

// Seconds of a kernel, the mean of as many calls as last long enough.
Take repeated(const std::function<void()>& kernel) {
  kernel();
  const double once = std::max(1e-9, std::min(cpu_seconds(kernel), cpu_seconds(kernel)));
  const auto times = std::max<std::int64_t>(1, static_cast<std::int64_t>(sample_seconds / once));
  return [kernel, times] {
    return cpu_seconds([&] {
             for (std::int64_t i = 0; i < times; ++i) kernel();
           }) /
           static_cast<double>(times);
  };
}

// The first operation of each function, by name.
std::map<std::string, const Op*> first_operations(const StepValues& values) {
  std::map<std::string, const Op*> first;
  for (const Op& op : values.program().ops) {
    if (!StepValues::is_kernel(op) || op.kind == OpKind::gemm) continue;
    const std::string function = op.function == nullptr ? "" : op.function->name;
    first.try_emplace(fmt::format("{} {}", op.verb(), function), &op);
  }
  return first;
}

std::vector<CountedProduct> shapes_of(const BenchQuestion& question) {
  std::vector<CountedProduct> shapes;
  for (const Product& shape : question.shapes) shapes.push_back({shape, 1});
  if (!shapes.empty()) return shapes;
  const Program program = record_step(question.model, options_of(question));
  return products(program, question.grid, question.sequences * question.model.sequence);
}

}  // namespace

BenchTable bench_gemm(const BenchQuestion& question) {
  const World world;
  BenchTable table{
      "gemm",
      "product (m x n x k), kernel",
      {{"Gflop/s", "p50"}, {"% of", "FMA peak"}},
      {},
      "CPU time of the computing thread, in turns with a loop of fused multiply-adds, whose p50 is "
      "the peak. Right: 64 elements of the result are within what rounding explains."};
  const double slower = repeated_share("product", world.rank());
  for (const CountedProduct& counted : shapes_of(question)) {
    FmaBurst burst(1e-3);
    std::vector<std::unique_ptr<ProductRun>> runs;
    std::vector<Take> takes{[&] { return cpu_seconds([&] { burst.run(); }); }};
    std::vector<bool> right;
    for (const GemmKernel& kernel : candidates(counted.product)) {
      const bool asked = std::find(question.libraries.begin(), question.libraries.end(),
                                   kernel.library) != question.libraries.end();
      if (!asked || kernel.form != counted.product.form) continue;
      runs.push_back(std::make_unique<ProductRun>(counted.product, kernel));
      ProductRun& run = *runs.back();
      right.push_back(all_right(run.error() <= 1.0));
      run.repeat(slower);
      takes.push_back([&run, times = run.times_in(sample_seconds)] { return run.seconds(times); });
    }
    const std::vector<Sample> seconds = slowest_of_ranks(take_turns(takes, {question.rounds, 1}));
    const double peak = burst.flops() / median(seconds[0]);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Product& p = runs[i]->product();
      const double rate = p.flops() / median(seconds[i + 1]);
      table.rows.push_back({fmt::format("{} {} x {} x {} {}, {}", name(p.form), p.m, p.n, p.k,
                                        name(p.out), text_of(runs[i]->kernel())),
                            seconds[i + 1],
                            {rate * giga, 100 * rate / peak},
                            right[i]});
    }
  }
  return table;
}

BenchTable bench_maps(const BenchQuestion& question) {
  const World world;
  BenchTable table{
      "maps",
      "kernel, elements",
      {{"GB/s", "p50"}, {"ns per", "element"}, {"% of", "triad"}},
      {},
      "CPU time, operands and result counted once each; in turns with STREAM's loops over arrays "
      "that no cache holds. More than 100 % of the triad: the operands lie in a cache."};
  const StepValues values(question.model, question.sequences, options_of(question));
  TunedBackend backend;
  Stream stream(stream_array_bytes(world.ranks_on_this_node()));
  struct Kernel {
    std::string name;
    double bytes = 0.0, elements = 0.0;
  };
  std::vector<Kernel> kernels;
  std::vector<Take> takes;
  for (StreamLoop loop : all_stream_loops) {
    const double elements = static_cast<double>(stream.array_bytes()) / 8;
    kernels.push_back({fmt::format("STREAM {}", name(loop)), stream.bytes(loop), elements});
    takes.push_back([&stream, loop] { return stream.seconds(loop); });
  }
  for (const auto& [label, op] : first_operations(values)) {
    if (op->function->family == &functions::attention_family) continue;
    std::int64_t elements = values[op->outputs[0]].size();
    for (Id input : op->inputs) elements = std::max(elements, values[input].size());
    kernels.push_back({label, values.bytes(*op), static_cast<double>(elements)});
    takes.push_back(repeated([&values, &backend, op] { values.run(backend, *op); }));
  }
  const std::vector<Sample> seconds = slowest_of_ranks(take_turns(takes, {question.rounds, 1}));
  const bool right = all_right(stream.right());
  const double triad = kernels[3].bytes / median(seconds[3]);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double p50 = median(seconds[i]);
    const double rate = kernels[i].bytes / p50;
    table.rows.push_back({fmt::format("{}, {:.3g} M", kernels[i].name, 1e-6 * kernels[i].elements),
                          seconds[i],
                          {rate * giga, p50 / kernels[i].elements / giga, 100 * rate / triad},
                          i >= all_stream_loops.size() || right});
  }
  return table;
}

BenchTable bench_attention(const BenchQuestion& question) {
  const World world;
  BenchTable table{
      "attention",
      "causal attention, tokens x heads x head",
      {{"Gflop/s", "p50"}, {"% of", "FMA peak"}},
      {},
      "CPU time, in turns with a loop of fused multiply-adds. Flops: the lower triangle alone, "
      "2 s^2 h of a sequence forward and 5 s^2 h backward, which computes the scores once more; h: "
      "the columns of all heads."};
  std::vector<std::int64_t> lengths{128, 256, 512, 1024};
  if (!question.sizes.empty()) lengths = question.sizes;
  for (std::int64_t tokens : lengths) {
    Model model = question.model;
    model.layers = 1;
    model.vocabulary = 128;
    model.sequence = tokens;
    const StepValues values(model, 1, options_of(question));
    TunedBackend backend;
    FmaBurst burst(1e-3);
    std::vector<Take> takes{[&] { return cpu_seconds([&] { burst.run(); }); }};
    std::vector<std::pair<std::string, double>> kernels;
    for (const auto& [label, op] : first_operations(values)) {
      if (op->function->family != &functions::attention_family) continue;
      const bool forward = op->is(functions::attention) || op->is(functions::context);
      const double square = static_cast<double>(tokens) * static_cast<double>(tokens) *
                            static_cast<double>(model.attention_columns());
      kernels.emplace_back(fmt::format("{} {} x {} x {}", forward ? "forward" : "backward", tokens,
                                       model.heads, model.head_columns()),
                           (forward ? 2.0 : 5.0) * square);
      takes.push_back(repeated([&values, &backend, op] { values.run(backend, *op); }));
    }
    const std::vector<Sample> seconds = slowest_of_ranks(take_turns(takes, {question.rounds, 1}));
    const double peak = burst.flops() / median(seconds[0]);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const double rate = kernels[i].second / median(seconds[i + 1]);
      table.rows.push_back(
          {kernels[i].first, seconds[i + 1], {rate * giga, 100 * rate / peak}, true});
    }
  }
  return table;
}

}  // namespace fourfold::inline bench::inline kinds
