// Footprints are appended hop by hop and merged once at the end: one sort instead of many searches.
#include "platforms/footprint.hpp"

#include <algorithm>

namespace fourfold {

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

}  // namespace fourfold
