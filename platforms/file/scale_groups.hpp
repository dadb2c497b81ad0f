// Parts of a machine by one word each: the numbers of a file that such a part stands behind, which
// a what-if scales together.
#pragma once

#include <string>
#include <vector>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline file {

struct ScaleGroup {
  std::string name;                // "nics"
  std::vector<std::string> rates;  // keys without labels; a factor of 2 doubles them
  std::vector<std::string> times;  // and halves these
  std::string of_tree;             // a rate that is this part's in a fat tree only; empty: none
};
const std::vector<ScaleGroup>& scale_groups();
std::vector<std::string> names_of_scale_groups();

// What the scales make of a number of a machine with this kind of network, as files name kinds.
double factor_for(const Scales& scales, const std::string& key, const std::string& network);
double factor_for(const Platform& platform, const Fact& fact);

// Collectives that were measured over nodes were so with the machine's own plateaus: what their
// bytes need at a scaled one takes as much longer or shorter, what is latency stays.
void follow_plateaus(CollectiveLibrary& library, const Scales& scales, const std::string& network);

// "node.nics.bandwidth_GBps, library.across.bus_bandwidth_GBps": what a group scales there.
std::string words_of_group(const ScaleGroup& group, const Platform& platform);

// Throws std::runtime_error with a sentence where the scaled numbers would be refused in a file.
void check_as_scaled(const Platform& platform);

}  // namespace fourfold::inline platforms::inline file
