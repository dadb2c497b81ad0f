// Rounds of pairwise exchanges at distances that double or halve; see collective_rounds.hpp.
#include "schedule/collective_rounds.hpp"

namespace fourfold {
namespace {

// Everybody's exchange with the partner at `distance`. Before a spread at distance d a member holds
// the chunks that agree with its number modulo 2 d; after a reduction at distance d it has left to
// do those that agree modulo 2 d. So the chunks to send agree, modulo 2 d, with the member itself
// (spread) or with its partner (reduce).
Round exchange(std::int32_t members, std::int32_t distance, Sweep sweep) {
  const Arrival arrival = sweep == Sweep::reduce ? Arrival::add : Arrival::store;
  Round round;
  for (std::int32_t member = 0; member < members; ++member) {
    const std::int32_t partner = member ^ distance;
    const std::int32_t agreeing = sweep == Sweep::reduce ? partner : member;
    const std::int32_t step = 2 * distance;
    for (std::int32_t chunk = agreeing % step; chunk < members; chunk += step) {
      round.push_back({member, partner, chunk, arrival});
    }
  }
  return round;
}

}  // namespace

Pass recursive_pass(GroupShape shape, Sweep sweep) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass;
  if (sweep == Sweep::spread) {
    for (std::int32_t distance = members / 2; distance >= 1; distance /= 2) {
      pass.push_back(exchange(members, distance, sweep));
    }
  } else {
    for (std::int32_t distance = 1; distance < members; distance *= 2) {
      pass.push_back(exchange(members, distance, sweep));
    }
  }
  return pass;
}

Pass doubling_pass(GroupShape shape) {
  const auto members = static_cast<std::int32_t>(shape.members);
  Pass pass;
  for (std::int32_t distance = 1; distance < members; distance *= 2) {
    Round& round = pass.emplace_back();
    for (std::int32_t member = 0; member < members; ++member) {
      round.push_back({member, member ^ distance, 0, Arrival::add});
    }
  }
  return pass;
}

}  // namespace fourfold
