// Whether a program can be started by its name.
#pragma once

#include <string>

namespace fourfold::inline support {

// In one of the folders of PATH, and executable.
bool on_path(const std::string& program);

}  // namespace fourfold::inline support
