// Question: how much of a collective is hidden behind compute, in each way to progress?
//
// OSU's formula: overlap = 100 max(0, 1 - (t_total - t_compute) / t_communication). Compute is a
// product of small matrices by plain loops, in tiles of about 100 us with a call between tiles, as
// the engine's kernels do; its length is set to that of the collective alone. The three times are
// taken in turn within each repetition; a time is the maximum over ranks. Rank 0 reports medians.
//
// On shared memory a collective is itself work for the CPU and little can be hidden; to see waiting
// hidden, run it under a limited network: microbench/overlap_tbf.sh.
#include <algorithm>
#include <vector>

#include "engine/host_memory.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "microbench/distributed.hpp"

namespace fourfold::inline microbench {
namespace {

// c += a b, of extent 64: about 50 to 100 us where loops are vectorised to SSE.
class Tile {
 public:
  void compute() {
    for (int i = 0; i < extent; ++i) {
      for (int k = 0; k < extent; ++k) {
        for (int j = 0; j < extent; ++j)
          c_[i * extent + j] += a_[i * extent + k] * b_[k * extent + j];
      }
    }
    benchmark::DoNotOptimize(c_.data());
    benchmark::ClobberMemory();
  }

 private:
  static constexpr int extent = 64;
  std::vector<float> a_ = std::vector<float>(extent * extent, 1e-3F), b_ = a_, c_ = a_;
};

void overlap(benchmark::State& state, TransportKind transport, ProgressMode mode,
             CollectiveKind kind) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  const std::int64_t elements = state.range(0) / 4 / ranks * ranks;
  std::vector<float> from(static_cast<std::size_t>(elements), 1.0F), to = from;
  CollectiveCall call{kind,
                      Owed::sum,
                      {reinterpret_cast<std::byte*>(from.data()), 1, elements, Precision::fp32},
                      {reinterpret_cast<std::byte*>(to.data()), 1, elements, Precision::fp32}};
  call.send.cols = elements_of(row_of(kind).brings, elements, ranks);
  call.receive.cols = elements_of(row_of(kind).gets, elements, ranks);
  HostMemory memory;
  Channels channels(ProcessGrid(ranks, 1, 1, 1), {{Axis::x, ""}}, transport, mode, memory);
  Communicator& channel = channels[{Axis::x, ""}];
  Tile tile;

  const auto communicate = [&] { channel.finish(channel.start(call)); };
  std::int64_t tiles = 100;
  const auto compute = [&] {
    for (std::int64_t i = 0; i < tiles; ++i) {
      tile.compute();
      channels.between_tiles();
    }
  };
  const auto both = [&] {
    const Post post = channel.start(call);
    compute();
    channel.finish(post);
  };
  const double warm = std::max(seconds_of(communicate), seconds_of(communicate));
  const double of_tiles = std::min(seconds_of(compute), seconds_of(compute));
  tiles = std::max<std::int64_t>(1, std::int64_t(warm / of_tiles * static_cast<double>(tiles)));

  std::vector<double> alone, computing, total, hidden;
  for ([[maybe_unused]] auto turn : state) {
    alone.push_back(seconds_of(communicate));
    computing.push_back(seconds_of(compute));
    total.push_back(seconds_of(both));
    hidden.push_back(100 * std::max(0.0, 1 - (total.back() - computing.back()) / alone.back()));
    state.SetIterationTime(total.back());
  }
  state.counters["t_communication_ms"] = quantile(alone, 0.5) * 1e3;
  state.counters["t_compute_ms"] = quantile(computing, 0.5) * 1e3;
  state.counters["t_total_ms"] = quantile(total, 0.5) * 1e3;
  state.counters["overlap_p10"] = quantile(hidden, 0.1);
  state.counters["overlap_p50"] = quantile(hidden, 0.5);
  state.counters["overlap_p90"] = quantile(hidden, 0.9);
  state.counters["n"] = static_cast<double>(hidden.size());
}

void add_benchmarks() {
  for (const KindRow& row : around_rows) {
    for (TransportKind transport : {TransportKind::ring, TransportKind::library}) {
      for (ProgressMode mode : {ProgressMode::none, ProgressMode::tiles, ProgressMode::thread}) {
        const std::string title = std::string(row.name) + "/" + name(transport) + "/" + name(mode);
        benchmark::RegisterBenchmark(title.c_str(),
                                     [=, kind = row.kind](benchmark::State& state) {
                                       overlap(state, transport, mode, kind);
                                     })
            ->Arg(4 << 20)
            ->Iterations(15)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::inline microbench

int main(int argc, char** argv) {
  return fourfold::run_on_all_ranks(argc, argv, fourfold::add_benchmarks);
}
