// Seconds that a device computes: a roofline with measured rates, operation by operation, with the
// kernels that the software launches for it.
#pragma once

#include "platforms/platform.hpp"
#include "schedule/fold/count.hpp"

namespace fourfold::inline sim::inline cost {

// Sustained rate of a product of local m x k and k x n blocks: the processor's table, linear in the
// logarithm of the geometric mean of m, n and k, flat beyond the table's ends.
FlopsPerSecond gemm_rate(const std::vector<GemmPoint>& table, double m, double k, double n);
// By a grid of measured ones, logarithms of rates linear in those of m, k and n; flat beyond its
// ends.
FlopsPerSecond gemm_rate(const ProductGrid& grid, double m, double k, double n);

// `batch` products of m x k and k x n in one launch, in tiles: the table's largest rate, less the
// start of each sum, the parts of tiles that stick out, units that have no tile in the last wave,
// and half where 16 bytes hold no whole number of rows' elements. Without tiles: the rate of one
// product of as much work.
struct BatchedProduct {
  double batch = 1.0, m = 1.0, k = 1.0, n = 1.0;
};
FlopsPerSecond batched_rate(const Processor& processor, const BatchedProduct& product);

// Fused attention by the version that the software has; FlashAttention-2's where the machine has no
// rate of it.
FlopsPerSecond attention_rate(const Processor& processor, const Software& software,
                              const OpClass& op);

// For each kernel the longer of computing and of moving bytes, and the launch; no less than the
// host takes to dispatch it. Views take no time. What the software says about a function counts;
// one that it does not mention is one kernel that moves every operand once. What a function
// computes takes time by class, each of which has units of its own: the longest counts. Products of
// heads are as many kernels. The device takes `longer` times as long for products and attention as
// the median one.
Seconds kernel_time_on(const OpClass& op, const LocalSizes& sizes, const Platform& platform,
                       double longer);

// The same on the slowest of so many devices, and where those of a node share its cores.
Seconds kernel_time(const OpClass& op, const LocalSizes& sizes, const Platform& platform,
                    std::int64_t devices);

// How much longer the slowest of so many devices computes than their median, whose rates the
// processor has: 1 + spread x the expected largest of as many normal values. Moving bytes takes all
// of them as long: clocks differ, not memories.
double slowest(const Processor& processor, std::int64_t devices);

// Time of kernels where a job has so many devices, over what the processor's rates give.
double slowdown(const Node& node, std::int64_t devices);

}  // namespace fourfold::inline sim::inline cost
