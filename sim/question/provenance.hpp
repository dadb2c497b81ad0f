// What this binary was built from, for the provenance of every record. The values are written at
// build time (cmake/provenance.cmake).
#pragma once

#include <string>

namespace fourfold::inline sim::inline question {

struct Build {
  std::string commit;           // 12 hex digits, then "-dirty" if the tree differs; or "unknown"
  std::string compiler;         // "GNU 12.2.0"
  std::string build_type;       // "Release"
  std::string simgrid_version;  // "3.32": the one fourfold-replay of the same build links
  std::string libraries;        // "fmt 9.1.0, nlohmann-json 3.11.2, ..."
};

const Build& build();

}  // namespace fourfold::inline sim::inline question
