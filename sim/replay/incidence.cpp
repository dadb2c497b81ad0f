// Builds both orders of the sparse matrix by counting.
#include "sim/replay/incidence.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace fourfold {

Incidence::Incidence(std::vector<double> capacities, const std::vector<Footprint>& footprints)
    : capacity_(std::move(capacities)) {
  for (double capacity : capacity_) {
    if (!(capacity > 0.0)) throw std::invalid_argument("A link needs a positive capacity.");
  }
  std::size_t entries = 0;
  for (const Footprint& footprint : footprints) entries += footprint.size();
  by_flow_.reserve(entries);
  flow_begin_.push_back(0);
  link_begin_.assign(capacity_.size() + 1, 0);
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
      by_flow_.push_back(entry);
      ++link_begin_[entry.link + 1];
    }
    lone_rate_.push_back(rate);
    flow_begin_.push_back(static_cast<std::int64_t>(by_flow_.size()));
  }
  for (std::size_t link = 1; link < link_begin_.size(); ++link) {
    link_begin_[link] += link_begin_[link - 1];
  }
  by_link_.resize(by_flow_.size());
  std::vector<std::int64_t> next(link_begin_.begin(), link_begin_.end() - 1);
  for (std::int32_t flow = 0; flow < flow_count(); ++flow) {
    for (const LinkShare& entry : links_of(flow)) {
      const std::int64_t place = next[entry.link]++;
      if (place > link_begin_[entry.link] && by_link_[place - 1].flow == flow) {
        throw std::invalid_argument("A footprint names a link twice: merge its shares.");
      }
      by_link_[place] = {flow, entry.share};
    }
  }
}

}  // namespace fourfold
