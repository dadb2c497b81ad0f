// Which flows are the parts of one collective: a ring whose edges may be held up by different links
// is a flow for each edge.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace fourfold::inline sim::inline replay {

// Communicator c's collectives are the flows [first[c], first[c + 1]) of an Incidence: parts that
// start together, each with all of the work per byte of its shares; the last one to end ends them.
struct Parts {
  std::vector<std::int32_t> first;

  // One flow each.
  static Parts whole(std::int32_t communicators) {
    Parts parts;
    parts.first.resize(static_cast<std::size_t>(communicators) + 1);
    std::iota(parts.first.begin(), parts.first.end(), 0);
    return parts;
  }

  std::int32_t count() const { return static_cast<std::int32_t>(first.size()) - 1; }
};

}  // namespace fourfold::inline sim::inline replay
