// The counted rung: what a folded schedule does on a grid, as numbers that need no machine: flops,
// bytes by lane.
#pragma once

#include <array>
#include <vector>

#include "schedule/fold/fold.hpp"
#include "schedule/program/process_grid.hpp"
#include "support/quantity.hpp"

namespace fourfold {

// Local sizes of everything in a folded schedule on one grid, computed once and read by all rungs.
struct LocalSizes {
  std::vector<std::int64_t> rows, cols, elements;  // by shape
  std::vector<double> bytes;                       // by size
  // `tokens`: of one micro-batch over all devices. Reuses the vectors' storage.
  void evaluate(const Folded& folded, const ProcessGrid& grid, std::int64_t tokens);
};

// Multiply-add counted as two. A gemm on local blocks m x k and k x n: 2 m n k. Causal attention
// over sequences of s: forward 2 (s+1) tokens h (half of the full 4 s tokens h), backward 5/2 of
// it, as a kernel does that repeats the scores. Element-wise work is counted as bytes, not flops.
Flops op_flops(const OpClass& op, const LocalSizes& sizes);
// HBM traffic if every operand is read and every result written once.
Bytes op_traffic(const OpClass& op, const LocalSizes& sizes);

struct Counts {
  Flops gemm;                               // per device
  Flops attention;                          // per device
  std::array<Bytes, lane_count> payload{};  // whole buffers of the lane's collectives, per device
  std::array<Bytes, lane_count> sent{};  // what a ring sends: 2 (n-1)/n or (n-1)/n of the payload
  std::array<std::int64_t, lane_count> collectives{};
  Flops executed() const { return gemm + attention; }
};
// Collectives along an axis of extent 1 do nothing and are not counted.
Counts count(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid);

}  // namespace fourfold
