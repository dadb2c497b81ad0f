// Progressive filling on what is reachable from a change: all rates rise together until a flow meets
// its bound or a link is full; those flows stay there, the others rise on.
#include "sim/replay/max_min.hpp"

#include <algorithm>
#include <cmath>

namespace fourfold {

namespace {

// Sums of loads carry rounding errors; a link counts as too small only beyond them.
constexpr double load_tolerance = 1e-9;
// Rates closer than this are the same rate: nothing is rescheduled for a rounding error.
constexpr double rate_tolerance = 1e-12;

}  // namespace

MaxMin::MaxMin(const Incidence& incidence)
    : incidence_(incidence), flows_(incidence.flow_count()), links_(incidence.link_count()) {}

bool MaxMin::can_bind(std::int32_t link) const {
  return links_[link].potential > incidence_.capacity(link) * (1.0 + load_tolerance);
}

bool MaxMin::enter(std::int32_t flow, double bound) {
  bool free = true;
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    Link& link = links_[entry.link];
    link.potential += entry.share * bound;
    ++link.active;
    if (can_bind(entry.link)) {
      free = false;
      dirty_links_.push_back(entry.link);
    }
  }
  flows_[flow].bound = bound;
  flows_[flow].active = true;
  flows_[flow].rate = free ? bound : 0.0;
  return free;
}

void MaxMin::leave(std::int32_t flow) {
  flows_[flow].active = false;
  flows_[flow].rate = 0.0;
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    Link& link = links_[entry.link];
    --link.active;
    if (link.active == 0) {
      link.potential = 0.0;
      continue;
    }
    if (can_bind(entry.link)) dirty_links_.push_back(entry.link);
    link.potential -= entry.share * flows_[flow].bound;
  }
}

void MaxMin::collect_reachable() {
  ++solve_number_;
  reached_flows_.clear();
  reached_links_.clear();
  for (std::int32_t link : dirty_links_) {
    if (links_[link].visited == solve_number_) continue;
    links_[link].visited = solve_number_;
    reached_links_.push_back(link);
  }
  dirty_links_.clear();
  for (std::size_t next = 0; next < reached_links_.size(); ++next) {
    const std::int32_t index = reached_links_[next];
    Link& link = links_[index];
    link.left = incidence_.capacity(index);
    link.weight = 0.0;
    link.unfixed = 0;
    for (const FlowShare& entry : incidence_.flows_on(index)) {
      Flow& flow = flows_[entry.flow];
      if (!flow.active) continue;
      link.weight += entry.share;
      ++link.unfixed;
      if (flow.visited == solve_number_) continue;
      flow.visited = solve_number_;
      flow.fixed = false;
      reached_flows_.push_back(entry.flow);
      for (const LinkShare& other : incidence_.links_of(entry.flow)) {
        if (links_[other.link].visited == solve_number_ || !can_bind(other.link)) continue;
        links_[other.link].visited = solve_number_;
        reached_links_.push_back(other.link);
      }
    }
  }
}

void MaxMin::fix(std::int32_t index, double rate) {
  Flow& flow = flows_[index];
  flow.fixed = true;
  if (std::abs(flow.rate - rate) > rate_tolerance * rate) {
    flow.rate = rate;
    changed_.push_back(index);
  }
  for (const LinkShare& entry : incidence_.links_of(index)) {
    Link& link = links_[entry.link];
    if (link.visited != solve_number_) continue;
    link.left -= entry.share * rate;
    link.weight -= entry.share;
    --link.unfixed;
  }
}

void MaxMin::fill() {
  const auto lower_first = [](const Level& a, const Level& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.link > b.link;
  };
  levels_.clear();
  for (std::int32_t index : reached_links_) {
    const Link& link = links_[index];
    if (link.unfixed > 0 && can_bind(index)) {
      levels_.push_back({link.left / link.weight, index});
    }
  }
  std::make_heap(levels_.begin(), levels_.end(), lower_first);
  by_bound_ = reached_flows_;
  std::sort(by_bound_.begin(), by_bound_.end(), [this](std::int32_t a, std::int32_t b) {
    return flows_[a].bound != flows_[b].bound ? flows_[a].bound < flows_[b].bound : a < b;
  });
  double level = 0.0;
  auto bounded = by_bound_.begin();
  while (true) {
    while (bounded != by_bound_.end() && flows_[*bounded].fixed) ++bounded;
    if (bounded == by_bound_.end()) return;
    const double bound = flows_[*bounded].bound;
    if (levels_.empty() || bound <= levels_.front().rate) {
      level = std::max(level, bound);
      fix(*bounded, bound);
      continue;
    }
    const Level lowest = levels_.front();
    std::pop_heap(levels_.begin(), levels_.end(), lower_first);
    levels_.pop_back();
    const Link& link = links_[lowest.link];
    if (link.unfixed == 0) continue;
    // Fixing flows below a link's level can only raise that level, so an entry that was pushed
    // earlier is a lower bound: it is put back where it belongs now.
    const double now = link.left / link.weight;
    if (now > lowest.rate * (1.0 + rate_tolerance)) {
      levels_.push_back({now, lowest.link});
      std::push_heap(levels_.begin(), levels_.end(), lower_first);
      continue;
    }
    level = std::max(level, lowest.rate);
    for (const FlowShare& entry : incidence_.flows_on(lowest.link)) {
      const Flow& flow = flows_[entry.flow];
      if (flow.active && !flow.fixed) fix(entry.flow, level);
    }
  }
}

const std::vector<std::int32_t>& MaxMin::solve() {
  changed_.clear();
  collect_reachable();
  fill();
  return changed_;
}

}  // namespace fourfold
