// What a platform file leaves open or says against itself without being impossible: sentences for
// people, beside every answer that rests on it.
#pragma once

#include <string>
#include <vector>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline file {

// Plateaus across nodes that are extrapolated, and such as fall with more devices per node although
// the inside of a node would carry more; an attention kernel without a rate. Empty for most
// machines.
std::vector<std::string> notices(const Platform& platform);

}  // namespace fourfold::inline platforms::inline file
