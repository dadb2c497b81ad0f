// A hook for tests: work that is done a little more often than asked, so that a measurement gets
// slower by a known share. Nothing but the programs that measure reads it.
#pragma once

#include <cstdint>
#include <string>

namespace fourfold::inline bench::inline measure {

// The share of `work` to repeat on this rank, from the environment:
// FOURFOLD_BENCH_REPEAT="product=0.1" repeats a tenth of every product, "product=0.1@3" on rank 3
// only; entries are separated by commas. 0 where nothing is asked for; throws std::runtime_error
// where the words are no such list.
double repeated_share(const std::string& work, std::int64_t rank);

// The same from words.
double repeated_share(const std::string& words, const std::string& work, std::int64_t rank);

}  // namespace fourfold::inline bench::inline measure
