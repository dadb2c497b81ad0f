// Finds a phase by its name; see phase.hpp.
#include "schedule/program/phase.hpp"

#include <stdexcept>

namespace fourfold::inline schedule::inline program {

Phase phase_named(const std::string& name) {
  std::string known;
  for (const PhaseRow& row : phases) {
    if (name == row.name) return row.phase;
    known += std::string(known.empty() ? "" : ", ") + row.name;
  }
  throw std::invalid_argument("there is no phase '" + name + "'; phases are " + known);
}

}  // namespace fourfold::inline schedule::inline program
