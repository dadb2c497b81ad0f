// Samples of one quantity: order statistics, and whether one sample lies below another.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold::inline bench::inline measure {

using Sample = std::vector<double>;

// The value below which `share` of the sample lies, by nearest rank: always one of the sample.
// Throws std::invalid_argument where the sample is empty.
double nearest_rank(Sample sample, double share);
double median(const Sample& sample);

struct Summary {
  double min = 0.0, p50 = 0.0, p90 = 0.0, p99 = 0.0, max = 0.0;
  std::int64_t n = 0;
};
Summary summary(const Sample& sample);

// How likely two samples of one distribution are to lie as these do, or `fresh` lower still: the
// one-sided rank test of Mann and Whitney (Ann. Math. Stat. 18, 1947), in its normal form with ties
// and continuity corrected. Meant for ten values a sample or more. 1 where a sample is empty.
double chance_of_lower(const Sample& fresh, const Sample& before);

}  // namespace fourfold::inline bench::inline measure
