// The constants of a collective library, chosen so that the model's times are those that were
// measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/calibrate/collective_log.hpp"
#include "scaling/calibrate/kept_measurements.hpp"

namespace fourfold::inline scaling::inline calibrate {

// What stays where samples say nothing, and whose it is: "NCCL's on Perlmutter".
struct LibraryBase {
  CollectiveLibrary library;
  std::string whose;
};
LibraryBase nccl_on_perlmutter();

// The largest buffers of each kind of group give the plateaus, as bus bandwidths, if their rates
// are near what they rise to; where they are not, the base's row stays. The rest is chosen by
// coordinate descent on the logarithm of the ratio of times, without random numbers: the same
// samples give the same constants.
struct LibraryFit {
  CollectiveLibrary library;
  std::string whose;  // what the samples say nothing about
  // Keys of the file below [library], "simple.hop_across_us" or "across.4", that the samples chose.
  std::vector<std::string> chosen;
  std::string interference_source;  // empty: nothing was measured beside kernels
  double mean_error = 0.0;          // of |modelled / measured - 1|
  // Rows whose rate still rises at the largest buffer, by key.
  struct Rising {
    std::string words;
    bool alone = false;  // nothing else says the rate: the row has what was measured
  };
  std::map<std::string, Rising> rising;
};
// Throws std::invalid_argument without samples, and without any rate inside a node where it
// matters.
LibraryFit fit_library(const std::vector<CollectiveSample>& samples,
                       const LibraryBase& base = nccl_on_perlmutter());

// What the library takes for a sample.
Seconds modelled(const CollectiveLibrary& library, const CollectiveSample& sample);

// The tables [library...] of a platform file, each number with `source`; numbers that nobody
// measured are unconfirmed.
std::string library_toml(const LibraryFit& fit, const std::string& name, const std::string& source);

// The text of a platform file with other tables [library...]; what the logs do not say stays: rings
// at once, members of a node that are no neighbours, and what is kept of its measurements.
std::string with_library(const std::string& platform, const std::string& library,
                         const KeptMeasurements& measured = {});

}  // namespace fourfold::inline scaling::inline calibrate
