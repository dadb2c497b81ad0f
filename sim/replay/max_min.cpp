// Progressive filling among the flows that a change concerns: their rates rise together until one
// meets its bound or a link is full; those flows stay there, the others rise on.
#include "sim/replay/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ranges>

namespace fourfold::inline sim::inline replay {

namespace {

// Sums of loads carry rounding errors; a link counts as too small only beyond them.
constexpr double load_tolerance = 1e-9;
// Rates closer than this are the same rate: nothing is rescheduled for a rounding error.
constexpr double rate_tolerance = 1e-12;
// A flow's rate is contradicted only beyond this, far above what rounding adds up to.
constexpr double fair_tolerance = 1e-11;

// Longer lists are read in order, as they come.
constexpr std::ptrdiff_t most_expected = 16;

}  // namespace

MaxMin::MaxMin(const Incidence& incidence, const Parts& parts)
    : incidence_(incidence),
      parts_(parts),
      together_(parts.count()),
      links_(incidence.link_count()),
      holdings_(links_.size()),
      flows_(incidence.flow_count()) {
  for (std::int32_t link = 0; link < incidence.link_count(); ++link) {
    links_[link].limit = incidence.capacity(link) * (1.0 + load_tolerance);
  }
  for (std::int32_t c = 0; c < parts.count(); ++c) {
    for (std::int32_t flow = parts.first[c]; flow < parts.first[c + 1]; ++flow) {
      flows_[flow].communicator = c;
    }
  }
}

void MaxMin::make_dirty(std::int32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_links_.push_back(link);
}

bool MaxMin::load(std::int32_t flow, double bound) {
  bool free = true;
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    Link& link = links_[entry.link];
    link.potential += entry.share * bound;
    ++link.active;
    if (link.potential <= link.limit) continue;
    free = false;
    link.can_bind = true;
    make_dirty(entry.link);
  }
  if (!free) return false;
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    links_[entry.link].used += entry.share * bound;
  }
  return true;
}

void MaxMin::unload(std::int32_t flow, double bound, double rate) {
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    Link& link = links_[entry.link];
    if (--link.active == 0) {
      link.potential = 0.0;  // no rounding error outlives the load
      link.used = 0.0;
      link.can_bind = false;
      continue;
    }
    link.potential -= entry.share * bound;
    link.used -= entry.share * rate;
    if (!link.can_bind) continue;
    make_dirty(entry.link);
    link.can_bind = link.potential > link.limit;
  }
}

void MaxMin::begin(std::int32_t flow, double bound, double rate) {
  Flow& state = flows_[flow];
  state.bound = bound;
  state.active = true;
  state.held_by = none;
  state.rate = rate;
}

bool MaxMin::enter(std::int32_t flow, double bound) {
  const bool free = load(flow, bound);
  begin(flow, bound, free ? bound : 0.0);
  if (!free) entered_.push_back(flow);
  return free;
}

bool MaxMin::enter_all(std::int32_t communicator, double bound) {
  Together& all = together_[communicator];
  all = {bound, true};
  const std::int32_t last = parts_.first[communicator + 1];
  for (std::int32_t flow = parts_.first[communicator]; flow < last; ++flow) {
    if (flow + ahead < last) expect(flow + ahead);
    if (!all.active) {
      enter(flow, bound);
    } else if (!load(flow, bound)) {
      part(communicator);  // those that follow will enter by themselves
      begin(flow, bound, 0.0);
      entered_.push_back(flow);
    }
  }
  return all.active;
}

void MaxMin::leave(std::int32_t flow) {
  Flow& state = flows_[flow];
  unload(flow, state.bound, state.rate);
  if (state.held_by != none) --holdings_[state.held_by].held;
  state.held_by = none;
  state.active = false;
  state.rate = 0.0;
}

void MaxMin::leave_all(std::int32_t communicator) {
  Together& all = together_[communicator];
  const std::int32_t last = parts_.first[communicator + 1];
  for (std::int32_t flow = parts_.first[communicator]; flow < last; ++flow) {
    if (flow + ahead < last) expect(flow + ahead);
    if (all.active) {
      unload(flow, all.rate, all.rate);
    } else {
      leave(flow);
    }
  }
  all.active = false;
}

void MaxMin::part(std::int32_t communicator) {
  Together& all = together_[communicator];
  const std::int32_t last = parts_.first[communicator + 1];
  for (std::int32_t flow = parts_.first[communicator]; flow < last; ++flow) {
    begin(flow, all.rate, all.rate);
  }
  all.active = false;
}

void MaxMin::take(std::int32_t number) {
  Flow& flow = flows_[number];
  if (together_[flow.communicator].active) part(flow.communicator);
  flow.taken = static_cast<std::int32_t>(taken_flows_.size());
  TakenFlow taken;
  taken.flow = number;
  taken.first_link = static_cast<std::int32_t>(links_of_taken_.size());
  for (const LinkShare& entry : incidence_.links_of(number)) {
    const Link& link = links_[entry.link];
    if (!link.can_bind) continue;
    std::int32_t& taken_as = holdings_[entry.link].taken;
    if (taken_as == none) {
      taken_as = static_cast<std::int32_t>(taken_links_.size());
      incidence_.expect_flows_on(entry.link);
      taken_links_.emplace_back();
      taken_links_.back().link = entry.link;
      taken_links_.back().room = incidence_.capacity(entry.link) - link.used;
    }
    TakenLink& taken_link = taken_links_[taken_as];
    taken_link.room += entry.share * flow.rate;
    taken_link.weight += entry.share;
    ++taken_link.flows;
    links_of_taken_.push_back({taken_as, entry.share});
  }
  taken.last_link = static_cast<std::int32_t>(links_of_taken_.size());
  touched_ += taken.last_link - taken.first_link;
  taken_flows_.push_back(taken);
  if (flow.held_by != none) --holdings_[flow.held_by].held;
}

void MaxMin::take_held_by(std::int32_t link) {
  if (holdings_[link].held == 0) return;
  const auto flows = incidence_.flows_on(link);
  touched_ += static_cast<std::int64_t>(flows.size());
  for (const FlowShare& entry : flows) {
    const Flow& flow = flows_[entry.flow];
    if (flow.held_by == link && flow.taken == none) take(entry.flow);
  }
}

bool MaxMin::waits(const Flow& flow) const {
  if (!flow.active || flow.taken != none) return false;
  return flow.rate <= 0.0 || (flow.held_by != none && links_[flow.held_by].dirty);
}

void MaxMin::expect_flows_on(std::int32_t link) const {
  for (const FlowShare& entry : incidence_.flows_on(link) | std::views::take(most_expected)) {
    __builtin_prefetch(&flows_[entry.flow]);
  }
}

// What waits on a link of a flow taken has to be shared with it; on a link that is not dirty nobody
// waits for that link's sake.
void MaxMin::take_neighbours() {
  for (std::size_t number = 0; number < taken_links_.size(); ++number) {
    if (!links_[taken_links_[number].link].dirty) continue;
    const auto flows = incidence_.flows_on(taken_links_[number].link);
    touched_ += static_cast<std::int64_t>(flows.size());
    for (const FlowShare& entry : flows) {
      if (waits(flows_[entry.flow])) take(entry.flow);
    }
  }
}

// Takes the flows that are faster than those that a full link now holds back, or that their link
// does not hold back any more.
bool MaxMin::take_contradicted() {
  const std::size_t flows_before = taken_flows_.size();
  const std::size_t links_before = taken_links_.size();
  for (std::size_t number = 0; number < links_before; ++number) {
    const TakenLink link = taken_links_[number];
    if (!link.full && holdings_[link.link].held == 0) continue;
    const double too_fast = link.fastest * (1.0 + fair_tolerance);
    const double too_slow = link.fastest * (1.0 - fair_tolerance);
    const bool idle = !link.full && link.left > fair_tolerance * incidence_.capacity(link.link);
    const auto flows = incidence_.flows_on(link.link);
    touched_ += static_cast<std::int64_t>(flows.size());
    for (const FlowShare& entry : flows) {
      const Flow& flow = flows_[entry.flow];
      const double now = rate(entry.flow);
      if (now <= 0.0 || flow.taken != none) continue;
      const bool freed = flow.held_by == link.link && (idle || now < too_slow);
      if (freed || (link.full && now > too_fast)) take(entry.flow);
    }
  }
  return taken_flows_.size() > flows_before;
}

void MaxMin::stay(TakenFlow& flow, double rate, std::int32_t held_by) {
  flow.rising = false;
  flow.rate = rate;
  flow.held_by = held_by;
  for (std::int32_t i = flow.first_link; i < flow.last_link; ++i) {
    TakenLink& link = taken_links_[links_of_taken_[i].link];
    link.left -= links_of_taken_[i].share * rate;
    link.rising_weight -= links_of_taken_[i].share;
    link.fastest = rate;  // rates only rise
    --link.rising;
  }
  touched_ += flow.last_link - flow.first_link;
}

void MaxMin::fill() {
  const auto lower_first = [](const Level& a, const Level& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.number > b.number;
  };
  levels_.clear();
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(taken_links_.size()); ++number) {
    TakenLink& link = taken_links_[number];
    link.left = link.room;
    link.rising_weight = link.weight;
    link.rising = link.flows;
    link.fastest = 0.0;
    link.full = false;
    levels_.push_back({std::max(0.0, link.left) / link.weight, number});
  }
  std::make_heap(levels_.begin(), levels_.end(), lower_first);
  bounds_.clear();
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(taken_flows_.size()); ++number) {
    taken_flows_[number].rising = true;
    bounds_.push_back({flows_[taken_flows_[number].flow].bound, number});
  }
  std::sort(bounds_.begin(), bounds_.end(),
            [&](const Level& a, const Level& b) { return lower_first(b, a); });
  double level = 0.0;
  auto bound = bounds_.begin();
  while (true) {
    while (bound != bounds_.end() && !taken_flows_[bound->number].rising) ++bound;
    if (bound == bounds_.end()) return;
    if (levels_.empty() || bound->rate <= levels_.front().rate) {
      level = std::max(level, bound->rate);
      stay(taken_flows_[bound->number], bound->rate, none);
      continue;
    }
    const Level lowest = levels_.front();
    std::pop_heap(levels_.begin(), levels_.end(), lower_first);
    levels_.pop_back();
    TakenLink& link = taken_links_[lowest.number];
    if (link.rising == 0) continue;
    // Flows that stay below a link's level can only raise that level, so an entry that was pushed
    // earlier is a lower bound: it is put back where it belongs now.
    const double now = std::max(0.0, link.left) / link.rising_weight;
    if (now > lowest.rate * (1.0 + rate_tolerance)) {
      levels_.push_back({now, lowest.number});
      std::push_heap(levels_.begin(), levels_.end(), lower_first);
      continue;
    }
    level = std::max(level, lowest.rate);
    link.full = true;
    const auto flows = incidence_.flows_on(link.link);
    touched_ += static_cast<std::int64_t>(flows.size());
    for (const FlowShare& entry : flows) {
      const std::int32_t taken = flows_[entry.flow].taken;
      if (taken != none && taken_flows_[taken].rising) stay(taken_flows_[taken], level, link.link);
    }
  }
}

void MaxMin::accept() {
  for (const TakenFlow& taken : taken_flows_) {
    Flow& flow = flows_[taken.flow];
    flow.taken = none;
    flow.held_by = taken.held_by;
    if (flow.held_by != none) ++holdings_[flow.held_by].held;
    if (std::abs(flow.rate - taken.rate) <= rate_tolerance * taken.rate) continue;
    for (const LinkShare& entry : incidence_.links_of(taken.flow)) {
      links_[entry.link].used += entry.share * (taken.rate - flow.rate);
    }
    flow.rate = taken.rate;
    if (!flow.changed) changed_.push_back(taken.flow);
    flow.changed = true;
  }
  for (const TakenLink& taken : taken_links_) {
    holdings_[taken.link].taken = none;
    links_[taken.link].dirty = false;  // whoever it held back was taken
  }
  taken_links_.clear();
  taken_flows_.clear();
  links_of_taken_.clear();
}

void MaxMin::settle() {
  if (taken_flows_.empty()) return;
  take_neighbours();
  do {
    fill();
  } while (take_contradicted());
  accept();
}

const std::vector<std::int32_t>& MaxMin::solve() {
  for (std::int32_t flow : changed_) flows_[flow].changed = false;
  changed_.clear();
  for (std::int32_t flow : entered_) {
    if (flows_[flow].active && flows_[flow].rate <= 0.0) {
      take(flow);
      settle();
    }
  }
  entered_.clear();
  for (std::size_t i = 0; i < dirty_links_.size(); ++i) {
    const std::int32_t link = dirty_links_[i];
    if (i + 2 < dirty_links_.size()) expect_flows_on(dirty_links_[i + 2]);
    if (links_[link].dirty) take_held_by(link);
    settle();
    links_[link].dirty = false;
  }
  dirty_links_.clear();
  return changed_;
}

}  // namespace fourfold::inline sim::inline replay
