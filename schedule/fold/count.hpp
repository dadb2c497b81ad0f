// The counted rung: what a folded schedule does on a grid, as numbers that need no machine: flops,
// bytes by channel.
#pragma once

#include <array>
#include <vector>

#include "schedule/fold/fold.hpp"
#include "schedule/fold/pipeline.hpp"
#include "schedule/program/process_grid.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline schedule::inline fold {

// Local sizes of everything in a folded schedule on one grid, computed once and read by all rungs.
struct LocalSizes {
  std::vector<std::int64_t> rows, cols, elements;  // by shape
  std::vector<double> bytes;                       // by size
  std::vector<double> width;                       // by size: bytes of an element
  // Reuses the vectors' storage.
  void evaluate(const Folded& folded, const ProcessGrid& grid, const Quantities& quantities);
};

// Multiply-add counted as two. A gemm on local blocks m x k and k x n: 2 m n k; otherwise what the
// function's description says.
Arithmetic op_arithmetic(const OpClass& op, const LocalSizes& sizes);
// Of that the matrix flops, which a rate of flop/s counts.
inline Flops op_flops(const OpClass& op, const LocalSizes& sizes) {
  return {op_arithmetic(op, sizes).matrix};
}
// Whether an operation does anything to memory: not where it only gives another name to what is
// there, as packs, and cuts along an axis of extent 1.
bool moves(const OpClass& op, const LocalSizes& sizes);
// HBM traffic, as the function's description says: every operand is read and every result written
// once, but for lookups.
Bytes op_traffic(const OpClass& op, const LocalSizes& sizes);
// That of one of its products of heads.
Bytes product_traffic(const OpClass& op, const LocalSizes& sizes, const HeadProduct& product);
// What an operation moves between the device and its host's memory: a copy one way, an update as
// much each way, in buckets.
struct HostTraffic {
  Bytes to_device, to_host;
  double buckets = 0;
  Bytes sum() const { return to_device + to_host; }
};
HostTraffic host_traffic(const OpClass& op, const LocalSizes& sizes);

struct Counts {
  std::vector<Channel> channels;
  Flops gemm;                  // per device
  Flops functions;             // per device: products inside functions, such as attention's
  std::vector<Bytes> payload;  // by channel: whole buffers of its collectives, per device
  std::vector<Bytes> sent;     // by channel: what a ring sends, 2 (n-1)/n or (n-1)/n of the payload
  std::vector<std::int64_t> collectives;  // by channel
  Flops executed() const { return gemm + functions; }
};
// Collectives of groups of one do nothing and are not counted; a message is counted at both
// ends, and sent half by each.
Counts count(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid);
// The mean over the stages of a pipeline, whose devices are equally many.
Counts mean(const std::vector<Counts>& stages);
// That mean; `sizes` are those of the kinds.
Counts mean_count(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes,
                  const ProcessGrid& grid);

}  // namespace fourfold::inline schedule::inline fold
