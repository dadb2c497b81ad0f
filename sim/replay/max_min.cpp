// Progressive filling on what is reachable from a change: all rates rise together until a flow
// meets its bound or a link is full; those flows stay there, the others rise on.
#include "sim/replay/max_min.hpp"

#include <algorithm>
#include <cmath>

namespace fourfold {

namespace {

// Sums of loads carry rounding errors; a link counts as too small only beyond them.
constexpr double load_tolerance = 1e-9;
// Rates closer than this are the same rate: nothing is rescheduled for a rounding error.
constexpr double rate_tolerance = 1e-12;
constexpr std::int32_t not_reached = -1;

}  // namespace

MaxMin::MaxMin(const Incidence& incidence)
    : incidence_(incidence),
      rate_(incidence.flow_count()),
      bound_(incidence.flow_count()),
      active_(incidence.flow_count()),
      potential_(incidence.link_count()),
      active_on_(incidence.link_count()),
      can_bind_(incidence.link_count()),
      link_number_(incidence.link_count(), not_reached),
      flow_number_(incidence.flow_count(), not_reached) {
  for (std::int32_t link = 0; link < incidence.link_count(); ++link) {
    limit_.push_back(incidence.capacity(link) * (1.0 + load_tolerance));
  }
}

bool MaxMin::enter(std::int32_t flow, double bound) {
  bool free = true;
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    potential_[entry.link] += entry.share * bound;
    ++active_on_[entry.link];
    if (potential_[entry.link] <= limit_[entry.link]) continue;
    free = false;
    can_bind_[entry.link] = 1;
    dirty_links_.push_back(entry.link);
  }
  bound_[flow] = bound;
  active_[flow] = 1;
  rate_[flow] = free ? bound : 0.0;
  return free;
}

void MaxMin::leave(std::int32_t flow) {
  active_[flow] = 0;
  rate_[flow] = 0.0;
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    if (--active_on_[entry.link] == 0) {
      potential_[entry.link] = 0.0;  // no rounding error outlives the load
      can_bind_[entry.link] = 0;
      continue;
    }
    potential_[entry.link] -= entry.share * bound_[flow];
    if (!can_bind_[entry.link]) continue;
    dirty_links_.push_back(entry.link);
    can_bind_[entry.link] = potential_[entry.link] > limit_[entry.link] ? 1 : 0;
  }
}

std::int32_t MaxMin::reach_link(std::int32_t link) {
  if (link_number_[link] == not_reached) {
    link_number_[link] = static_cast<std::int32_t>(reached_link_names_.size());
    reached_link_names_.push_back(link);
  }
  return link_number_[link];
}

std::int32_t MaxMin::reach_flow(std::int32_t flow) {
  if (flow_number_[flow] != not_reached) return flow_number_[flow];
  flow_number_[flow] = static_cast<std::int32_t>(reached_flows_.size());
  ReachedFlow reached;
  reached.flow = flow;
  reached.bound = bound_[flow];
  reached.first_link = static_cast<std::int32_t>(links_of_reached_.size());
  for (const LinkShare& entry : incidence_.links_of(flow)) {
    if (can_bind_[entry.link]) links_of_reached_.push_back({reach_link(entry.link), entry.share});
  }
  reached.last_link = static_cast<std::int32_t>(links_of_reached_.size());
  reached_flows_.push_back(reached);
  return flow_number_[flow];
}

void MaxMin::collect_reachable() {
  reached_link_names_.clear();
  reached_links_.clear();
  reached_flows_.clear();
  links_of_reached_.clear();
  flows_on_reached_.clear();
  for (std::int32_t link : dirty_links_) reach_link(link);
  dirty_links_.clear();
  for (std::size_t next = 0; next < reached_link_names_.size(); ++next) {
    const std::int32_t link = reached_link_names_[next];
    ReachedLink reached;
    reached.left = incidence_.capacity(link);
    reached.first_flow = static_cast<std::int32_t>(flows_on_reached_.size());
    for (const FlowShare& entry : incidence_.flows_on(link)) {
      if (!active_[entry.flow]) continue;
      reached.weight += entry.share;
      ++reached.unfixed;
      flows_on_reached_.push_back(reach_flow(entry.flow));
    }
    reached.last_flow = static_cast<std::int32_t>(flows_on_reached_.size());
    reached_links_.push_back(reached);
  }
}

void MaxMin::fix(ReachedFlow& flow, double rate) {
  flow.fixed = true;
  if (std::abs(rate_[flow.flow] - rate) > rate_tolerance * rate) {
    rate_[flow.flow] = rate;
    changed_.push_back(flow.flow);
  }
  for (std::int32_t i = flow.first_link; i < flow.last_link; ++i) {
    ReachedLink& link = reached_links_[links_of_reached_[i].link];
    link.left -= links_of_reached_[i].share * rate;
    link.weight -= links_of_reached_[i].share;
    --link.unfixed;
  }
}

void MaxMin::fill() {
  const auto lower_first = [](const Level& a, const Level& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.link > b.link;
  };
  levels_.clear();
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(reached_links_.size());
       ++number) {
    const ReachedLink& link = reached_links_[number];
    if (can_bind_[reached_link_names_[number]]) {
      levels_.push_back({link.left / link.weight, number});
    }
  }
  std::make_heap(levels_.begin(), levels_.end(), lower_first);
  bounds_.clear();
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(reached_flows_.size());
       ++number) {
    bounds_.push_back({reached_flows_[number].bound, number});
  }
  std::sort(bounds_.begin(), bounds_.end(), [](const Bound& a, const Bound& b) {
    return a.rate != b.rate ? a.rate < b.rate : a.flow < b.flow;
  });
  double level = 0.0;
  auto bound = bounds_.begin();
  while (true) {
    while (bound != bounds_.end() && reached_flows_[bound->flow].fixed) ++bound;
    if (bound == bounds_.end()) return;
    if (levels_.empty() || bound->rate <= levels_.front().rate) {
      level = std::max(level, bound->rate);
      fix(reached_flows_[bound->flow], bound->rate);
      continue;
    }
    const Level lowest = levels_.front();
    std::pop_heap(levels_.begin(), levels_.end(), lower_first);
    levels_.pop_back();
    const ReachedLink& link = reached_links_[lowest.link];
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
    for (std::int32_t i = link.first_flow; i < link.last_flow; ++i) {
      ReachedFlow& flow = reached_flows_[flows_on_reached_[i]];
      if (!flow.fixed) fix(flow, level);
    }
  }
}

const std::vector<std::int32_t>& MaxMin::solve() {
  changed_.clear();
  collect_reachable();
  fill();
  for (std::int32_t link : reached_link_names_) link_number_[link] = not_reached;
  for (const ReachedFlow& flow : reached_flows_) flow_number_[flow.flow] = not_reached;
  return changed_;
}

}  // namespace fourfold
