// The tests' own machines, one for each network and kind of node: tests/machines/*.toml, with round
// numbers, so that no fact of a real machine moves a golden text.
#pragma once

#include <array>
#include <string>

#include "tests/paths.hpp"

namespace fourfold::tests {

inline constexpr std::array fixed_machines{"crossbar",      "crossbar-private", "dragonfly",
                                           "torus",         "fat-tree-2",       "fat-tree-3",
                                           "dragonfly-plus"};

inline std::string path_of_machine(const std::string& name) {
  return source_path("tests/machines/" + name + ".toml");
}

}  // namespace fourfold::tests
