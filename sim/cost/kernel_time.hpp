// Seconds that a device computes: a roofline with measured rates, operation by operation.
#pragma once

#include "platforms/platform.hpp"
#include "schedule/fold/count.hpp"

namespace fourfold {

// Sustained rate of a product of local m x k and k x n blocks: the processor's table, linear in the
// logarithm of the geometric mean of m, n and k, flat beyond the table's ends.
FlopsPerSecond gemm_rate(const Processor& processor, double m, double k, double n);

// The longer of computing and of moving every operand once, and the launch. Views take no time.
// Products of heads are as many kernels, each of which computes at the rate of a product of as much
// work.
Seconds kernel_time(const OpClass& op, const LocalSizes& sizes, const Processor& processor);

}  // namespace fourfold
