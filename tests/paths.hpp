// Where the sources and the built executables are, for tests that read the one or start the other.
#pragma once

#include <string>

namespace fourfold::tests {

std::string source_path(const std::string& below);  // "docs/platforms.md"
std::string executable_path(const std::string& name);

}  // namespace fourfold::tests
