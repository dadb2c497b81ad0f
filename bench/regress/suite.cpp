// Products, memory, collectives, training steps and projections, each in turns; see suite.hpp.
#include "bench/regress/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

#include "bench/measure/collective.hpp"
#include "bench/measure/messages.hpp"
#include "bench/measure/own_product.hpp"
#include "bench/measure/product.hpp"
#include "bench/measure/shield.hpp"
#include "bench/measure/slow_down.hpp"
#include "bench/measure/stream.hpp"
#include "bench/measure/training.hpp"
#include "bench/measure/turns.hpp"
#include "engine/cpu/fma_peak.hpp"
#include "engine/host_memory.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/train/run/world.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "sim/estimate/estimate.hpp"
#include "support/foreign_load.hpp"
#include "support/processor_name.hpp"

namespace fourfold::inline bench::inline regress {

namespace {

constexpr double giga = 1e-9;
constexpr double burst_seconds = 1e-3;

class Suite {
 public:
  explicit Suite(Effort effort)
      : factor_(effort == Effort::quick ? 1 : 4),
        own_seconds_(own_processor_seconds()),
        fits_(all_ranks(world_.ranks_on_this_node() <=
                        std::int64_t{std::max(1U, std::thread::hardware_concurrency())})) {}

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
  // Ranks that share a core would only hold each other off.
  Turns turns(std::int64_t rounds) const {
    return {rounds * factor_, 2, fits_ ? Company::held_off : Company::any};
  }
  double repeated(const char* work) const { return repeated_share(work, world_.rank()); }
  // Work that ranks do together cannot be repeated in part: its time is stretched, on all alike.
  double stretched(const char* work) const { return 1.0 + largest_of_ranks(repeated(work)); }
  Take burst() {
    return [this] { return cpu_seconds([this] { burst_.run(); }); };
  }
  Take own() {
    return [this] { return cpu_seconds([this] { own_.run(); }); };
  }

  double sum_over_ranks(double own) const {
    double sum = 0.0;
    for (double one : world_.all(own)) sum += one;
    return sum;
  }
  void note_rank(const std::string& name, double rate, double beside_own) {
    result_.of_ranks.push_back(name);
    rates_.push_back(rate);
    beside_own_.push_back(beside_own);
  }

  // The peak that nine bursts in ten reach at least: the fastest are those that a core made while
  // its neighbour paused for a moment, and no product lasts as short as they.
  double peak_of(const Sample& bursts) const {
    return burst_.flops() / nearest_rank(bursts, 0.1) * giga;
  }

  // Of work of so much each, between two of our own products.
  Sample beside_own(double work, const Sample& seconds, const Sample& before,
                    const Sample& after) const {
    Sample ratios;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const double own = 2.0 * OwnProduct::flops() * giga / (before[i] + after[i]);
      ratios.push_back(work / seconds[i] / own);
    }
    return ratios;
  }
  static Sample rates(double work, const Sample& seconds) {
    Sample rates;
    for (double one : seconds) rates.push_back(work / one);
    return rates;
  }

  // The median of the ranks' ratios, and their samples.
  void judge_by(Metric& metric, const Sample& ratios) const {
    metric.judged = sum_over_ranks(median(ratios)) / static_cast<double>(world_.size());
    metric.samples = world_.all(thinned(ratios));
  }

  // As many rounds of every rank as a rank test needs.
  static Sample thinned(const Sample& sample) {
    constexpr std::size_t most = 100;
    const std::size_t stride = (sample.size() + most - 1) / most;
    Sample some;
    for (std::size_t i = 0; i < sample.size(); i += stride) some.push_back(sample[i]);
    return some;
  }

  // OpenBLAS and oneDNN, the three forms, square and as a transformer has them; of sizes that the
  // second cache of most cores holds, for what lies beyond belongs to neighbours, too.
  void products() {
    using enum GemmForm;
    struct Case {
      Product product;
      Library library;
    };
    const std::array cases{
        Case{{nn, 256, 256, 256}, Library::openblas}, Case{{nn, 256, 256, 256}, Library::onednn},
        Case{{nt, 256, 768, 192}, Library::onednn}, Case{{tn, 192, 768, 256}, Library::onednn}};
    std::vector<std::unique_ptr<ProductRun>> runs;
    std::vector<Take> takes{burst(), own()};
    for (const auto& [product, library] : cases) {
      runs.push_back(std::make_unique<ProductRun>(
          product, GemmKernel{library, product.form, Precision::fp32}));
      ProductRun& run = *runs.back();
      if (!(run.error() <= 1.0)) {
        throw std::runtime_error(product.str() + " of " + name(library) + " has wrong numbers");
      }
      run.repeat(repeated("product"));
      takes.push_back([&run] {
        run.run();  // brings its operands into the caches of the core
        return run.seconds(1);
      });
      takes.push_back(own());
    }
    const std::vector<Sample> seconds = take_turns(takes, turns(150));
    // A slow core is never fast; one whose neighbour works is, whenever that pauses.
    const double best = burst_.flops() / *std::ranges::min_element(seconds[0]) * giga;
    note_rank("FMA peak", best, best);
    result_.fma_peak = sum_over_ranks(peak_of(seconds[0]));
    result_.metrics.push_back({"FMA peak", "Gflop/s", Scale::absolute, result_.fma_peak,
                               result_.fma_peak,
                               world_.all(thinned(rates(burst_.flops() * giga, seconds[0])))});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string name =
          fmt::format("product {}, {}",
                      runs[i]->product().str().substr(0, runs[i]->product().str().find(" fp")),
                      fourfold::name(runs[i]->kernel().library));
      const std::size_t at = 2 * i + 2;
      const double work = runs[i]->flops() * giga;
      Metric metric{name, "Gflop/s", Scale::own_product, 0, 0, {}};
      const double rate = work / median(seconds[at]);
      metric.value = sum_over_ranks(rate);
      const Sample ratios = beside_own(work, seconds[at], seconds[at - 1], seconds[at + 1]);
      note_rank(name, rate, median(ratios));
      judge_by(metric, ratios);
      result_.metrics.push_back(std::move(metric));
    }
  }

  void memory() {
    Stream stream(stream_array_bytes(world_.ranks_on_this_node()));
    const double more = repeated("memory");
    constexpr std::array loops{StreamLoop::copy, StreamLoop::triad};
    std::vector<Take> takes;
    for (StreamLoop loop : loops) {
      takes.push_back([&, loop] { return stream.seconds(loop, more); });
    }
    const std::vector<Sample> seconds = take_turns(takes, turns(15));
    if (!stream.right()) throw std::runtime_error("memory holds other numbers than were written");
    const Scale scale = on_virtual_machine() ? Scale::traffic : Scale::absolute;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const StreamLoop loop = loops[i];
      Metric metric{fmt::format("memory {}", name(loop)), "GB/s", scale, 0, 0, {}};
      const double rate = stream.bytes(loop) * giga / median(seconds[i]);
      note_rank(metric.name, rate, rate);
      metric.value = metric.judged = sum_over_ranks(rate);
      metric.samples = world_.all(thinned(rates(stream.bytes(loop) * giga, seconds[i])));
      result_.metrics.push_back(std::move(metric));
    }
  }

  // Of work that all ranks do together; its seconds are the same on all.
  void of_all_ranks(Metric quantity, double work, const Sample& seconds) {
    quantity.value = quantity.judged = work / median(seconds);
    quantity.samples = rates(work, seconds);
    result_.metrics.push_back(std::move(quantity));
  }

  void training() {
    TrainingRun run({"regress", 2, 128, 4, 64, 512}, 2);
    const double factor = stretched("training");
    const std::vector<Sample> seconds =
        take_turns({own(), [&] { return run.seconds() * factor; }, own()}, turns(100));
    const double work = run.flops() * giga;
    of_all_ranks({"training step, small GPT along data", "Gflop/s", Scale::own_product, 0, 0, {}},
                 work, seconds[1]);
    judge_by(result_.metrics.back(), beside_own(work, seconds[1], seconds[0], seconds[2]));
  }

  void collectives() {
    if (world_.size() == 1) return;
    HostMemory memory;
    const Channel line{Axis::data, ""};
    Channels channels(ProcessGrid(1, 1, 1, world_.size()), {line}, TransportKind::ring,
                      ProgressMode::none, memory);
    std::vector<std::unique_ptr<CollectiveRun>> runs;
    std::vector<Take> takes;
    std::vector<std::string> names;
    const double factor = stretched("collective");
    for (const KindRow& row : around_rows) {
      for (std::int64_t bytes : {std::int64_t{64} << 10, std::int64_t{4} << 20}) {
        runs.push_back(std::make_unique<CollectiveRun>(channels[line], row.kind, bytes));
        CollectiveRun& run = *runs.back();
        if (!run.right()) {
          throw std::runtime_error(fmt::format("{} leaves wrong numbers", row.name));
        }
        takes.push_back([&run, factor] { return run.seconds() * factor; });
        names.push_back(fmt::format("{} of {} KiB, ring", row.name, bytes >> 10));
      }
    }
    const std::vector<Sample> seconds = take_turns(takes, turns(60));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      of_all_ranks({names[i], "GB/s bus", Scale::traffic, 0, 0, {}}, runs[i]->bus_bytes() * giga,
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
      const Estimate projected = estimate_step(point, read_platform(platform));
      Metric quantity{fmt::format("projected {} on {}, {}", model, platform, grid.str()),
                      "Tflop/s",
                      Scale::exact,
                      0,
                      0,
                      {}};
      quantity.value = quantity.judged =
          (model_flops(point.model, point.global_batch, point.options,
                       point.grid.extent(Axis::pipe)) /
           projected.outcome.total)
              .value *
          1e-12;
      result_.metrics.push_back(std::move(quantity));
    }
  }

  void gather_ranks() {
    std::array<char, MPI_MAX_PROCESSOR_NAME> node{};
    int length = 0;
    check_mpi(MPI_Get_processor_name(node.data(), &length), "MPI_Get_processor_name");
    const auto nodes = world_.all(node);
    const std::vector<double> rates = world_.all(rates_), beside = world_.all(beside_own_);
    for (std::int64_t rank = 0; rank < world_.size(); ++rank) {
      const auto part = [&](const std::vector<double>& all) {
        const auto count = static_cast<std::ptrdiff_t>(rates_.size());
        return std::vector<double>(all.begin() + rank * count, all.begin() + (rank + 1) * count);
      };
      result_.ranks.push_back(
          {rank, nodes[static_cast<std::size_t>(rank)].data(), part(rates), part(beside)});
    }
    const std::vector<double> seconds = world_.all(own_processor_seconds() - own_seconds_);
    double ours = 0.0;
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
      if (nodes[rank] == node) ours += seconds[rank];
    }
    result_.foreign_cores = largest_of_ranks(load_.cores(ours));
    result_.stolen_cores = largest_of_ranks(load_.stolen_cores());
    result_.held_off = fits_ && all_ranks(Shield().holds());
  }

  World world_;
  std::int64_t factor_ = 1;
  ForeignLoad load_;
  double own_seconds_ = 0.0;
  bool fits_ = false;  // a rank a core
  FmaBurst burst_{burst_seconds};
  OwnProduct own_;
  MachineRun result_;
  std::vector<double> rates_, beside_own_;  // of this rank, by name in result_.of_ranks
};

}  // namespace

MachineRun measure_machine(Effort effort, const Announce& announce) {
  return Suite(effort).run(announce);
}

MachineRun better_of(const MachineRun& one, const MachineRun& other) {
  MachineRun best = one;
  best.fma_peak = std::max(one.fma_peak, other.fma_peak);
  best.foreign_cores = std::max(one.foreign_cores, other.foreign_cores);
  best.stolen_cores = std::max(one.stolen_cores, other.stolen_cores);
  for (std::size_t i = 0; i < best.metrics.size(); ++i) {
    if (other.metrics[i].judged > best.metrics[i].judged) {
      best.metrics[i] = other.metrics[i];
    }
  }
  for (std::size_t r = 0; r < best.ranks.size(); ++r) {
    for (std::size_t i = 0; i < best.of_ranks.size(); ++i) {
      const auto keep_best = [&](std::vector<double> RankRates::*of) {
        double& best_yet = (best.ranks[r].*of)[i];
        best_yet = std::max(best_yet, (other.ranks[r].*of)[i]);
      };
      keep_best(&RankRates::rates);
      keep_best(&RankRates::beside_own);
    }
  }
  return best;
}

}  // namespace fourfold::inline bench::inline regress
