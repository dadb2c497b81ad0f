// What a machine's library has measured that logs of collectives do not measure anew.
#pragma once

#include <string>
#include <vector>

#include "scaling/calibrate/collective_log.hpp"

namespace fourfold::inline scaling::inline calibrate {

struct KeptMeasurements {
  std::vector<std::string> tables;  // below [library], that stay as they stand
  std::string rows;                 // [library.measured] anew, where some of its rows go
  std::string said;                 // what goes, a sentence; empty: nothing does
};

// Rows of [library.measured] go where a sample is of such groups: of their kind and of as many
// members a node, inside a node or over nodes, as rows go before constants. [library.cliff] goes
// where a gather or reduce-scatter over nodes was measured. Throws toml::parse_error on what is no
// TOML.
KeptMeasurements kept_measurements(const std::string& platform,
                                   const std::vector<CollectiveSample>& samples);

}  // namespace fourfold::inline scaling::inline calibrate
