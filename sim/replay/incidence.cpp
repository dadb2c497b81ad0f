// Builds both orders of the sparse matrix by counting.
#include "sim/replay/incidence.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace fourfold::inline sim::inline replay {

namespace {
constexpr double full_tolerance = 1e-9;  // relative, for rounding errors of the sum of loads
}

Incidence::Incidence(std::vector<double> capacities, const std::vector<Footprint>& footprints)
    : capacity_(std::move(capacities)) {
  for (double capacity : capacity_) {
    if (!(capacity > 0.0)) throw std::invalid_argument("A link needs a positive capacity.");
  }
  std::size_t entries = 0;
  for (const Footprint& footprint : footprints) entries += footprint.size();
  by_flow_.reserve(entries);
  flow_begin_.push_back(0);
  std::unordered_map<double, std::int32_t> known;
  for (const Footprint& footprint : footprints) {
    double rate = std::numeric_limits<double>::infinity();
    for (const LinkShare& entry : footprint) {
      if (entry.link < 0 || entry.link >= link_count()) {
        throw std::invalid_argument("A footprint names link " + std::to_string(entry.link) +
                                    ", but there are only " + std::to_string(link_count()) +
                                    " links.");
      }
      if (!(entry.share > 0.0)) throw std::invalid_argument("A footprint needs positive shares.");
      rate = std::min(rate, capacity_[entry.link] / entry.share);
      const auto [place, is_new] = known.emplace(entry.share, shares_.size());
      if (is_new) shares_.push_back(entry.share);
      by_flow_.push_back({entry.link, place->second});
    }
    lone_rate_.push_back(rate);
    flow_begin_.push_back(counted(by_flow_.size()));
  }
  index_by_link();
}

std::int32_t Incidence::counted(std::size_t entries) {
  if (entries > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::invalid_argument("The collectives load more links than a replay can count.");
  }
  return static_cast<std::int32_t>(entries);
}

void Incidence::index_by_link() {
  link_begin_.assign(capacity_.size() + 1, 0);
  for (const Entry& entry : by_flow_) ++link_begin_[entry.number + 1];
  for (std::size_t link = 1; link < link_begin_.size(); ++link) {
    link_begin_[link] += link_begin_[link - 1];
  }
  by_link_.resize(by_flow_.size());
  std::vector<std::int32_t> next(link_begin_.begin(), link_begin_.end() - 1);
  for (std::int32_t flow = 0; flow < flow_count(); ++flow) {
    for (std::int32_t i = flow_begin_[flow]; i < flow_begin_[flow + 1]; ++i) {
      const std::int32_t link = by_flow_[i].number;
      const std::int32_t place = next[link]++;
      if (place > link_begin_[link] && by_link_[place - 1].number == flow) {
        throw std::invalid_argument("A footprint names a link twice: merge its shares.");
      }
      by_link_[place] = {flow, by_flow_[i].share};
    }
  }
}

std::vector<std::uint8_t> Incidence::fillable(const std::vector<double>& bounds) const {
  std::vector<std::uint8_t> result(capacity_.size());
  for (std::int32_t link = 0; link < link_count(); ++link) {
    double load = 0.0;
    for (const FlowShare& entry : flows_on(link)) {
      load += entry.share * std::min(bounds[entry.flow], lone_rate_[entry.flow]);
    }
    result[link] = load > capacity_[link] * (1.0 + full_tolerance) ? 1 : 0;
  }
  return result;
}

Incidence Incidence::deciding(const std::vector<double>& bounds) const {
  std::vector<std::uint8_t> kept = fillable(bounds);
  std::vector<std::int32_t> candidates;
  for (std::int32_t link = 0; link < link_count(); ++link) {
    if (kept[link]) candidates.push_back(link);
  }
  const auto same_load = [this](std::int32_t a, std::int32_t b) {
    return std::ranges::equal(flows_on(a), flows_on(b));
  };
  // Links that carry the same stand together, the narrowest first.
  std::sort(candidates.begin(), candidates.end(), [this](std::int32_t a, std::int32_t b) {
    const auto order = std::lexicographical_compare_three_way(
        flows_on(a).begin(), flows_on(a).end(), flows_on(b).begin(), flows_on(b).end());
    if (order != 0) return order < 0;
    return capacity_[a] != capacity_[b] ? capacity_[a] < capacity_[b] : a < b;
  });
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (same_load(candidates[i - 1], candidates[i])) kept[candidates[i]] = 0;
  }
  Incidence result;
  std::vector<std::int32_t> number(capacity_.size());
  for (std::int32_t link = 0; link < link_count(); ++link) {
    number[link] = result.link_count();
    if (kept[link]) result.capacity_.push_back(capacity_[link]);
  }
  result.lone_rate_ = lone_rate_;
  result.shares_ = shares_;
  result.flow_begin_.push_back(0);
  for (std::int32_t flow = 0; flow < flow_count(); ++flow) {
    for (std::int32_t i = flow_begin_[flow]; i < flow_begin_[flow + 1]; ++i) {
      const Entry entry = by_flow_[i];
      if (kept[entry.number]) result.by_flow_.push_back({number[entry.number], entry.share});
    }
    result.flow_begin_.push_back(counted(result.by_flow_.size()));
  }
  result.index_by_link();
  return result;
}

}  // namespace fourfold::inline sim::inline replay
