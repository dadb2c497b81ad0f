// What `fourfold bench` is asked: sizes, shapes, libraries, ranks.
#pragma once

#include <string>
#include <vector>

#include "bench/kinds/bench_table.hpp"
#include "engine/cpu/kernel_choices.hpp"
#include "engine/mpi/channels.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline bench::inline kinds {

// Whoever measures is collective over MPI_COMM_WORLD, gives the same table on all ranks, and prints
// nothing.
struct BenchQuestion {
  Model model;
  std::int64_t sequences = 4;   // of a step on this rank
  ProcessGrid grid;             // that the products of gemm are cut by; of collectives, the ranks'
  std::vector<Product> shapes;  // of gemm; empty: the model's
  std::vector<Library> libraries{Library::openblas, Library::onednn};
  Precision precision = Precision::fp32;
  std::vector<TransportKind> transports{TransportKind::ring, TransportKind::window,
                                        TransportKind::library};
  std::vector<std::int64_t> sizes;  // bytes; empty: the kind's own
  std::int64_t rounds = 20;
  std::string folder = ".";           // checkpoint
  std::string platform = "frontier";  // estimate, simulate
};

}  // namespace fourfold::inline bench::inline kinds
