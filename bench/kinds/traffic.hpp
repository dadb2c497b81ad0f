// What ranks move: messages, collectives, checkpoints.
#pragma once

#include "bench/kinds/question.hpp"

namespace fourfold::inline bench::inline kinds {

BenchTable bench_p2p(const BenchQuestion& question);
BenchTable bench_collectives(const BenchQuestion& question);
BenchTable bench_checkpoint(const BenchQuestion& question);

}  // namespace fourfold::inline bench::inline kinds
