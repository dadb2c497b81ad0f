// How far measured collectives are from the model of a machine's library, by size: what
// `fourfold collectives --measured` prints.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/calibrate/collective_log.hpp"

namespace fourfold::inline scaling::inline calibrate {

// Of measurements of one kind and of sizes from `least` bytes to below `beyond`.
struct CollectiveErrors {
  std::string kind;
  std::int64_t least = 0;
  std::int64_t beyond = 0;
  std::int64_t rows = 0;
  double mean_absolute = 0.0;  // of modelled / measured - 1
  double bias = 0.0;
  double worst = 0.0;
};

// A CSV as nccl-tests measure: op, nodes, gpus_per_node, bytes and time_us; groups that ran side by
// side in their nodes have more than 1 in a column concurrent_groups, others had the nodes to
// themselves. Rows whose cells differ from `only`, by column, are left out, as are other operations
// than all-gathers, reduce-scatters and all-reduces. Throws std::runtime_error by line and column.
std::vector<CollectiveErrors> collective_errors(const Platform& platform, const std::string& path,
                                                const std::map<std::string, std::string>& only);

// Of samples in groups that have their nodes to themselves, by a library's constants.
std::vector<CollectiveErrors> collective_errors(const CollectiveLibrary& library,
                                                const std::vector<CollectiveSample>& samples);

std::string sizes_in_words(const CollectiveErrors& errors);  // "below 64 MiB"
std::string collective_errors_text(const std::vector<CollectiveErrors>& errors);

}  // namespace fourfold::inline scaling::inline calibrate
