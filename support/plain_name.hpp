// Names that become names of files, folders and jobs, wherever they came from: a plain one has no
// slash and no control character, begins with neither a dot nor a dash, and is not too long.
#pragma once

#include <string>

namespace fourfold::inline support {

// Why it is none, as in "it has a '/'"; empty if it is one.
std::string why_not_plain(const std::string& name);

// The name, with '_' for what is not plain, and cut where it is too long; a plain one as it is.
std::string made_plain(const std::string& name);

}  // namespace fourfold::inline support
