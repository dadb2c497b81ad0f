// Question: how fast are our ring, our shared window and the choice among all beside the MPI
// library's own non-blocking collectives, on the ranks of one node?
//
// Ours and theirs take turns within one benchmark, so that both see the same machine. A time is the
// maximum over ranks from a common barrier; rank 0 reports. algbw and busbw as nccl-tests define
// them: bytes of the whole buffer per second, and that times what part_sent() says.
//
//   mpirun -np 2 build/bin/bench-engine_collectives --benchmark_counters_tabular=true
#include <vector>

#include "engine/host_memory.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/plan/ring_order.hpp"
#include "microbench/distributed.hpp"

namespace fourfold::inline microbench {
namespace {

void report(benchmark::State& state, const std::string& who, const Timings& sample) {
  for (const auto& [label, share] :
       {std::pair{"min", 0.0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}}) {
    state.counters[who + "_" + label + "_us"] = quantile(sample, share) * 1e6;
  }
}

struct Operands {
  std::vector<float> whole, other;
  Tensor tensor(std::vector<float>& values, std::int64_t elements) {
    return {reinterpret_cast<std::byte*>(values.data()), 1, elements, Precision::fp32};
  }
};

// What MPI calls a line that is not closed.
MPI_Comm line() {
  static const MPI_Comm made = [] {
    const int extent = mpi_count(size_of(MPI_COMM_WORLD));
    const int closed = 0;
    MPI_Comm cart = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &closed, 0, &cart);
    return cart;
  }();
  return made;
}

// Of an all-to-all of unequal parts: whole and half ones by turns, the same both ways.
struct Parts {
  std::vector<int> extents, firsts;

  explicit Parts(std::int64_t piece) {
    const std::int64_t ranks = size_of(MPI_COMM_WORLD);
    int first = 0;
    for (std::int64_t other = 0; other < ranks; ++other) {
      const bool whole = (rank_in(MPI_COMM_WORLD) + other) % 2 == 0;
      extents.push_back(mpi_count(whole ? piece : piece / 2));
      firsts.push_back(first);
      first += extents.back();
    }
  }
};

void theirs(const CollectiveCall& call, const Parts& parts) {
  const int ranks = mpi_count(size_of(MPI_COMM_WORLD));
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = mpi_count(call.send.size());
  const int piece = mpi_count(call.receive.size());
  float* from = call.send.fp32();
  float* to = call.receive.fp32();
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      MPI_Iallreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case CollectiveKind::all_gather:
      MPI_Iallgather(from, count, MPI_FLOAT, to, count, MPI_FLOAT, MPI_COMM_WORLD, &request);
      break;
    case CollectiveKind::reduce_scatter:
      MPI_Ireduce_scatter_block(from, to, piece, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
      break;
    case CollectiveKind::all_to_all:
      MPI_Ialltoall(from, count / ranks, MPI_FLOAT, to, count / ranks, MPI_FLOAT, MPI_COMM_WORLD,
                    &request);
      break;
    case CollectiveKind::all_to_all_v:
      MPI_Ialltoallv(from, parts.extents.data(), parts.firsts.data(), MPI_FLOAT, to,
                     parts.extents.data(), parts.firsts.data(), MPI_FLOAT, MPI_COMM_WORLD,
                     &request);
      break;
    case CollectiveKind::broadcast:
      MPI_Ibcast(from, count, MPI_FLOAT, 0, MPI_COMM_WORLD, &request);
      break;
    case CollectiveKind::neighbour_exchange:
      MPI_Ineighbor_alltoall(from, count / 2, MPI_FLOAT, to, count / 2, MPI_FLOAT, line(),
                             &request);
      break;
    case CollectiveKind::send:
      return;  // not asked here
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void side_by_side(benchmark::State& state, TransportKind transport, CollectiveKind kind) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  const std::int64_t elements = state.range(0) / 4 / ranks * ranks;
  HostMemory memory;
  Channels channels(ProcessGrid(ranks, 1, 1, 1), {{Axis::x, ""}}, transport, ProgressMode::none,
                    memory);
  Operands operands{std::vector<float>(static_cast<std::size_t>(elements), 1.0F),
                    std::vector<float>(static_cast<std::size_t>(elements), 2.0F)};
  CollectiveCall call{
      kind, Owed::sum,
      operands.tensor(operands.whole, elements_of(row_of(kind).brings, elements, ranks)),
      operands.tensor(operands.other, elements_of(row_of(kind).gets, elements, ranks))};

  // As programs have it, and MPI.
  if (row_of(kind).motion == Motion::onward) call.receive = call.send;
  const Parts parts(elements / ranks);
  if (kind == CollectiveKind::all_to_all_v) {
    call.to.assign(parts.extents.begin(), parts.extents.end());
    call.from = call.to;
  }
  if (row_of(kind).motion == Motion::neighbours) line();

  channels[{Axis::x, ""}].prepare({call});
  const auto ours = [&] { channels[{Axis::x, ""}].finish(channels[{Axis::x, ""}].start(call)); };
  const auto library = [&] { theirs(call, parts); };
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    seconds_of(ours);
    seconds_of(library);
  }
  Timings our_sample, their_sample;
  for ([[maybe_unused]] auto turn : state) {
    our_sample.push_back(seconds_of(ours));
    their_sample.push_back(seconds_of(library));
    state.SetIterationTime(our_sample.back());
  }

  const double bandwidth = static_cast<double>(4 * elements) / quantile(our_sample, 0.5) * 1e-9;
  report(state, "ours", our_sample);
  report(state, "mpi", their_sample);
  state.counters["n"] = static_cast<double>(our_sample.size());
  state.counters["algbw_GBps"] = bandwidth;
  state.counters["busbw_GBps"] = bandwidth * part_sent(kind, ranks);
  state.counters["times_as_fast"] = quantile(their_sample, 0.5) / quantile(our_sample, 0.5);
  state.counters["best_times_as_fast"] = quantile(their_sample, 0) / quantile(our_sample, 0);
}

void add_benchmarks() {
  for (TransportKind transport :
       {TransportKind::ring, TransportKind::window, TransportKind::automatic}) {
    for (const KindRow& row : collective_rows) {
      if (row.motion == Motion::one_way) continue;
      for (std::int64_t bytes = 4 << 10; bytes <= 16 << 20; bytes *= 4) {
        const std::string title = std::string(name(transport)) + "/" + row.name;
        benchmark::RegisterBenchmark(
            title.c_str(),
            [=, kind = row.kind](benchmark::State& state) { side_by_side(state, transport, kind); })
            ->Arg(bytes)
            ->Iterations(bytes > (4 << 20) ? 60 : 200)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::inline microbench

int main(int argc, char** argv) {
  return fourfold::run_on_all_ranks(argc, argv, fourfold::add_benchmarks);
}
