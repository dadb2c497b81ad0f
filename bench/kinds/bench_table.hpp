// What `fourfold bench` measured, as a value: rows of samples, with what they were measured beside.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/sample.hpp"

namespace fourfold::inline bench::inline kinds {

struct BenchRow {
  std::string name;
  Sample seconds;               // of the slowest rank
  std::vector<double> figures;  // by BenchTable::figures
  bool right = true;            // what was computed is what it must be
};

struct BenchFigure {
  std::string header, unit;
};

struct BenchTable {
  std::string kind;  // "gemm"
  std::string what;  // of a row's name: "product, library"
  std::vector<BenchFigure> figures;
  std::vector<BenchRow> rows;
  std::string notes;  // what the figures mean
};

// The machine as it was while this was measured.
struct BenchHeader {
  std::string cpu, kernels, mpi, commit;
  std::int64_t ranks = 1;
  std::string cores;  // by rank: "0-1, 0-1"
  double load = 0.0;
  double fma_peak_Gflops = 0.0, triad_GBps = 0.0;  // of this rank, the best
  std::string timing;                              // what is to be known of the timing library
};

std::string bench_text(const BenchHeader& header, const BenchTable& table);  // at most 120 columns
std::string bench_json(const BenchHeader& header, const BenchTable& table);  // one line
std::string bench_csv(const BenchHeader& header, const BenchTable& table);   // header as comments

}  // namespace fourfold::inline bench::inline kinds
