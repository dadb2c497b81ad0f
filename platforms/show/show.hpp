// What `fourfold platforms` and `fourfold platforms show <name>` print.
#pragma once

#include <string>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline show {

// A table of the platforms that come with Fourfold; a file that cannot be read is listed with the
// reason.
std::string list_platforms();

// Pictures of node and network, then every number with its source; at most 100 columns.
std::string show_platform(const Platform& platform);

// The same facts as one JSON object, for programs.
std::string show_platform_json(const Platform& platform);

}  // namespace fourfold::inline platforms::inline show
