// Which stretch of a member's operand goes to which other member, and where what comes from one is
// put, as pure functions: of collectives that move numbers and do not add (Motion::pairs, onward
// and neighbours).
#pragma once

#include <numeric>

#include "engine/communicator.hpp"
#include "engine/plan/ring_order.hpp"

namespace fourfold::inline engine::inline plan {

// Of a list of extents the stretch of one, all lying one after the other.
inline RingChunk stretch_of(const std::vector<std::int64_t>& extents, std::int64_t which) {
  const auto at = extents.begin() + which;
  return {std::accumulate(extents.begin(), at, std::int64_t{0}), *at};
}

// Elements of `send` at `position` that go to `other`, itself included.
inline RingChunk sent_to(const CollectiveCall& call, std::int64_t members, std::int64_t position,
                         std::int64_t other) {
  const std::int64_t edge = call.receive.size() / 2;
  switch (row_of(call.kind).motion) {
    case Motion::pairs:
      return call.to.empty() ? ring_chunk(call.send.size(), members, other)
                             : stretch_of(call.to, other);
    case Motion::onward:
      return {0, position == 0 ? call.send.size() : 0};
    case Motion::neighbours:
      if (other == position - 1) return {0, edge};
      if (other == position + 1) return {call.send.size() - edge, edge};
      return {};
    default:
      return {};
  }
}

// Elements of `receive` at `position` that come from `other`, itself included.
inline RingChunk received_from(const CollectiveCall& call, std::int64_t members,
                               std::int64_t position, std::int64_t other) {
  const std::int64_t edge = call.receive.size() / 2;
  switch (row_of(call.kind).motion) {
    case Motion::pairs:
      return call.from.empty() ? ring_chunk(call.receive.size(), members, other)
                               : stretch_of(call.from, other);
    case Motion::onward:
      return {0, other == 0 ? call.receive.size() : 0};
    case Motion::neighbours:
      if (other == position - 1) return {0, edge};
      if (other == position + 1) return {edge, edge};
      return {};
    default:
      return {};
  }
}

}  // namespace fourfold::inline engine::inline plan
