// Finds a phase by its name; see phase.hpp.
#include "schedule/program/phase.hpp"

#include <stdexcept>
#include <vector>

#include "support/nearest_name.hpp"

namespace fourfold::inline schedule::inline program {

Phase phase_named(const std::string& name) {
  std::vector<std::string> known;
  for (const PhaseRow& row : phases) {
    if (name == row.name) return row.phase;
    known.emplace_back(row.name);
  }
  throw std::invalid_argument("unknown phase '" + name + "'" + one_of_these(name, known));
}

}  // namespace fourfold::inline schedule::inline program
