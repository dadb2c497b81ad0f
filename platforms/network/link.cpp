// Names of links; footprints are appended hop by hop and merged once: one sort, not many searches.
#include "platforms/network/link.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

namespace fourfold::inline platforms::inline network {

const char* name(LinkKind kind) {
  constexpr std::array names{"inner", "nic out", "nic in", "local", "global",
                             "leaf",  "spine",   "core",   "torus", "port"};
  const auto index = static_cast<std::size_t>(kind);
  if (index >= names.size()) throw std::invalid_argument("this link kind has no name");
  return names[index];
}

void merge(Footprint& footprint) {
  std::sort(footprint.begin(), footprint.end(),
            [](const LinkShare& a, const LinkShare& b) { return a.link < b.link; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < footprint.size(); ++i) {
    if (kept > 0 && footprint[kept - 1].link == footprint[i].link) {
      footprint[kept - 1].share += footprint[i].share;
    } else {
      footprint[kept++] = footprint[i];
    }
  }
  footprint.resize(kept);
}

}  // namespace fourfold::inline platforms::inline network
