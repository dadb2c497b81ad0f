// The list, and what is said of the machine; see kinds.hpp.
#include "bench/kinds/kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "bench/doctor/examine.hpp"
#include "bench/kinds/kernels.hpp"
#include "bench/kinds/rungs.hpp"
#include "bench/kinds/traffic.hpp"
#include "bench/measure/stream.hpp"
#include "bench/measure/turns.hpp"
#include "engine/cpu/fma_peak.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/train/run/world.hpp"
#include "sim/question/provenance.hpp"
#include "support/processor_name.hpp"

namespace fourfold::inline bench::inline kinds {

BenchHeader bench_header() {
  const World world;
  BenchHeader header;
  header.cpu = recorded_processor();
  header.kernels = blas_report();
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  check_mpi(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
  header.mpi = std::string(version.data(), static_cast<std::size_t>(length));
  header.mpi.resize(std::min(header.mpi.size(), header.mpi.find_first_of(",\n")));
  header.commit = build().commit;
  header.ranks = world.size();
  std::array<char, 64> cores{};
  own_cores().copy(cores.data(), cores.size() - 1);
  for (const auto& one : world.all(cores)) {
    if (!header.cores.empty()) header.cores.append(", ");
    header.cores.append(one.data());
  }
  std::array<double, 1> load{};
  if (getloadavg(load.data(), 1) == 1) header.load = load[0];
  header.fma_peak_Gflops = 1e-9 * fma_peak_flops_per_second();
  Stream stream(stream_array_bytes(world.ranks_on_this_node()));
  const Sample triad =
      take_turns({[&] { return stream.seconds(StreamLoop::triad); }}, {5, 1}).front();
  header.triad_GBps = 1e-9 * stream.bytes(StreamLoop::triad) / summary(triad).min;
  const TimingLibrary library = timing_library();
  header.timing = fmt::format(
      "timed under Google Benchmark{}: a turn of its loop takes {:.2g} us, in no sample",
      library.debug ? ", a debug build, which does not matter" : "", 1e6 * library.turn_seconds);
  return header;
}

const std::vector<BenchKind>& bench_kinds() {
  static const std::vector<BenchKind> kinds{
      {"gemm", "matrix products of a model, by library, with their numbers checked", bench_gemm, 1},
      {"maps", "kernels bound by memory, beside STREAM", bench_maps, 1},
      {"attention", "causal attention, forward and backward, by length", bench_attention, 1},
      {"p2p", "messages between pairs of ranks: latency and bandwidth", bench_p2p, 2},
      {"collectives", "collectives per axis of a grid, by transport and size", bench_collectives,
       2},
      {"checkpoint", "checkpoints written and read, beside a plain file", bench_checkpoint, 2},
      {"estimate", "the estimator, point by point", bench_estimate, 1},
      {"simulate", "the simulator, point by point", bench_simulate, 1}};
  return kinds;
}

}  // namespace fourfold::inline bench::inline kinds
