// The rungs that project: the estimator in this process, the simulator as it is started.
#pragma once

#include "bench/kinds/question.hpp"

namespace fourfold::inline bench::inline kinds {

BenchTable bench_estimate(const BenchQuestion& question);
BenchTable bench_simulate(const BenchQuestion& question);

}  // namespace fourfold::inline bench::inline kinds
