// Products, memory, collectives, training steps and projections, each in turns; see suite.hpp.
#include "bench/regress/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "bench/measure/collective.hpp"
#include "bench/measure/messages.hpp"
#include "bench/measure/product.hpp"
#include "bench/measure/slow_down.hpp"
#include "bench/measure/stream.hpp"
#include "bench/measure/training.hpp"
#include "bench/measure/turns.hpp"
#include "engine/cpu/fma_peak.hpp"
#include "engine/host_memory.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/train/run/world.hpp"
#include "schedule/models/model_file.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold {

namespace {

constexpr double giga = 1e-9;
constexpr double burst_seconds = 1e-3;

class Suite {
 public:
  explicit Suite(Effort effort) : factor_(effort == Effort::quick ? 1 : 4) {}

  MachineRun run(const Announce& announce) {
    announce("products");
    products();
    announce("memory");
    memory();
    announce("training steps");
    training();
    announce("collectives");
    collectives();
    announce("projections");
    projections();
    gather_ranks();
    return std::move(result_);
  }

 private:
  Turns turns(std::int64_t rounds) const { return {.rounds = rounds * factor_, .warm_ups = 2}; }
  double repeated(const char* work) const { return repeated_share(work, world_.rank()); }
  // Work that ranks do together cannot be repeated in part: its time is stretched, on all alike.
  double stretched(const char* work) const { return 1.0 + largest_of_ranks(repeated(work)); }
  Take burst() {
    return [this] { return cpu_seconds([this] { burst_.run(); }); };
  }

  double sum_over_ranks(double own) const {
    double sum = 0.0;
    for (double one : world_.all(own)) sum += one;
    return sum;
  }
  void note_rank(const std::string& name, double rate) {
    result_.of_ranks.push_back(name);
    own_rates_.push_back(rate);
  }

  // Work of this rank alone, of so much in each round; `peak` is this rank's in the same rounds.
  void of_each_rank(Metric metric, double work, const Sample& seconds, double peak) {
    const double best = work / summary(seconds).min;
    note_rank(metric.name, best);
    metric.value = metric.judged = sum_over_ranks(best);
    const double scale = metric.scale == Scale::fma_peak ? peak : 1.0;
    if (metric.scale == Scale::fma_peak) metric.judged /= result_.fma_peak;
    metric.samples = world_.all(undisturbed(work, seconds, scale));
    result_.metrics.push_back(std::move(metric));
  }

  // The fastest quarter of the rounds, as rates on the scale: how the others were disturbed differs
  // from hour to hour and says nothing of the machine.
  static Sample undisturbed(double work, Sample seconds, double scale) {
    std::sort(seconds.begin(), seconds.end());
    seconds.resize(std::max<std::size_t>(8, seconds.size() / 4));
    for (double& one : seconds) one = work / one / scale;
    return seconds;
  }

  // OpenBLAS and oneDNN, the three forms, square and as a transformer has them.
  void products() {
    using enum GemmForm;
    struct Case {
      Product product;
      Library library;
    };
    const std::array cases{
        Case{{nn, 512, 512, 512}, Library::openblas}, Case{{nn, 512, 512, 512}, Library::onednn},
        Case{{nt, 512, 1536, 384}, Library::onednn}, Case{{tn, 384, 1536, 512}, Library::onednn}};
    std::vector<std::unique_ptr<ProductRun>> runs;
    std::vector<Take> takes{burst()};
    for (const auto& [product, library] : cases) {
      runs.push_back(std::make_unique<ProductRun>(
          product, GemmKernel{library, product.form, Precision::fp32}));
      ProductRun& run = *runs.back();
      if (!(run.error() <= 1.0)) {
        throw std::runtime_error(product.str() + " of " + name(library) + " has wrong numbers");
      }
      run.repeat(repeated("product"));
      takes.push_back([&run] { return run.seconds(1); });
      takes.push_back(burst());
    }
    const std::vector<Sample> seconds = take_turns(takes, turns(100));
    Sample bursts;
    for (std::size_t i = 0; i < seconds.size(); i += 2) {
      bursts.insert(bursts.end(), seconds[i].begin(), seconds[i].end());
    }
    const double peak = burst_.flops() / summary(bursts).min * giga;
    note_rank("FMA peak", peak);
    result_.fma_peak = sum_over_ranks(peak);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string name =
          fmt::format("product {}, {}",
                      runs[i]->product().str().substr(0, runs[i]->product().str().find(" fp")),
                      fourfold::name(runs[i]->kernel().library));
      of_each_rank({name, "Gflop/s", Scale::fma_peak, 0, 0, {}}, runs[i]->flops() * giga,
                   seconds[2 * i + 1], peak);
    }
  }

  void memory() {
    Stream stream(stream_array_bytes(world_.ranks_on_this_node()));
    const double more = repeated("memory");
    const std::vector<Sample> seconds =
        take_turns({[&] { return stream.seconds(StreamLoop::copy, more); },
                    [&] { return stream.seconds(StreamLoop::triad, more); }},
                   turns(15));
    if (!stream.right()) throw std::runtime_error("memory holds other numbers than were written");
    std::size_t i = 0;
    for (StreamLoop loop : {StreamLoop::copy, StreamLoop::triad}) {
      of_each_rank({fmt::format("memory {}", name(loop)), "GB/s", Scale::absolute, 0, 0, {}},
                   stream.bytes(loop) * giga, seconds[i], 1.0);
      ++i;
    }
  }

  // Of work that all ranks do together; its seconds are the same on all.
  void of_all_ranks(Metric quantity, double work, const Sample& seconds) {
    quantity.value = quantity.judged = work / summary(seconds).min;
    for (double one : seconds) quantity.samples.push_back(work / one);
    result_.metrics.push_back(std::move(quantity));
  }

  void training() {
    TrainingRun run({"regress", 2, 128, 4, 64, 512}, 2);
    const double factor = stretched("training");
    const std::vector<Sample> seconds =
        take_turns({[&] { return run.seconds() * factor; }, burst()}, turns(100));
    of_all_ranks({"training step, small GPT along data", "Gflop/s", Scale::fma_peak, 0, 0, {}},
                 run.flops() * giga, seconds[0]);
    const double peak = sum_over_ranks(burst_.flops() / summary(seconds[1]).min * giga);
    Metric& training = result_.metrics.back();
    training.judged /= peak;
    for (double& sample : training.samples) sample /= peak;
    result_.fma_peak = std::max(result_.fma_peak, peak);
  }

  void collectives() {
    if (world_.size() == 1) return;
    HostMemory memory;
    const Channel line{Axis::data, ""};
    Channels channels(ProcessGrid(1, 1, 1, world_.size()), {line}, Transport::ring,
                      ProgressMode::none, memory);
    std::vector<std::unique_ptr<CollectiveRun>> runs;
    std::vector<Take> takes;
    std::vector<std::string> names;
    const double factor = stretched("collective");
    for (CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      for (std::int64_t bytes : {std::int64_t{64} << 10, std::int64_t{4} << 20}) {
        runs.push_back(std::make_unique<CollectiveRun>(channels[line], kind, bytes));
        CollectiveRun& run = *runs.back();
        if (!run.right()) {
          throw std::runtime_error(fmt::format("{} leaves wrong numbers", name(kind)));
        }
        takes.push_back([&run, factor] { return run.seconds() * factor; });
        names.push_back(fmt::format("{} of {} KiB, ring", name(kind), bytes >> 10));
      }
    }
    const std::vector<Sample> seconds = take_turns(takes, turns(60));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      of_all_ranks({names[i], "GB/s bus", Scale::absolute, 0, 0, {}}, runs[i]->bus_bytes() * giga,
                   seconds[i]);
    }
  }

  void projections() {
    struct Case {
      const char* platform;
      const char* model;
      ProcessGrid grid;
    };
    for (const auto& [platform, model, grid] :
         {Case{"frontier", "gpt-5b", ProcessGrid(2, 2, 2, 8)},
          Case{"perlmutter", "gpt-20b", ProcessGrid(4, 2, 4, 8)},
          Case{"alps", "gpt-10b", ProcessGrid(4, 1, 4, 8)}}) {
      Point point;
      point.platform = platform;
      point.model = read_model(model);
      point.grid = grid;
      const Estimate projected = estimate(point, read_platform(platform));
      Metric quantity{fmt::format("projected {} on {}, {}", model, platform, grid.str()),
                      "Tflop/s",
                      Scale::exact,
                      0,
                      0,
                      {}};
      quantity.value = quantity.judged =
          (projected.model_flops / projected.outcome.total).value * 1e-12;
      result_.metrics.push_back(std::move(quantity));
    }
  }

  void gather_ranks() {
    std::array<char, MPI_MAX_PROCESSOR_NAME> node{};
    int length = 0;
    check_mpi(MPI_Get_processor_name(node.data(), &length), "MPI_Get_processor_name");
    const auto nodes = world_.all(node);
    const std::vector<double> rates = world_.all(own_rates_);
    const auto of_rank = static_cast<std::ptrdiff_t>(own_rates_.size());
    for (std::int64_t rank = 0; rank < world_.size(); ++rank) {
      const auto first = rates.begin() + rank * of_rank;
      result_.ranks.push_back({rank, nodes[static_cast<std::size_t>(rank)].data(),
                               std::vector<double>(first, first + of_rank)});
    }
  }

  World world_;
  std::int64_t factor_ = 1;
  FmaBurst burst_{burst_seconds};
  MachineRun result_;
  std::vector<double> own_rates_;
};

}  // namespace

MachineRun measure_machine(Effort effort, const Announce& announce) {
  return Suite(effort).run(announce);
}

MachineRun better_of(const MachineRun& one, const MachineRun& other) {
  MachineRun best = one;
  best.fma_peak = std::max(one.fma_peak, other.fma_peak);
  for (std::size_t i = 0; i < best.metrics.size(); ++i) {
    if (other.metrics[i].judged > best.metrics[i].judged) {
      best.metrics[i] = other.metrics[i];
    }
  }
  for (std::size_t r = 0; r < best.ranks.size(); ++r) {
    for (std::size_t i = 0; i < best.of_ranks.size(); ++i) {
      double& rate = best.ranks[r].rates[i];
      rate = std::max(rate, other.ranks[r].rates[i]);
    }
  }
  return best;
}

}  // namespace fourfold
