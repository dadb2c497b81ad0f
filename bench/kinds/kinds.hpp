// All that `fourfold bench` can measure, by name; and the machine it measures.
#pragma once

#include "bench/kinds/question.hpp"

namespace fourfold::inline bench::inline kinds {

struct BenchKind {
  const char* name;
  const char* what;  // for the list
  BenchTable (*measure)(const BenchQuestion& question);
  std::int64_t ranks;  // by default
};
const std::vector<BenchKind>& bench_kinds();

// Collective over MPI_COMM_WORLD.
BenchHeader bench_header();

}  // namespace fourfold::inline bench::inline kinds
