// Which flow loads which link, and how much per byte: the sparse matrix of the sharing problem,
// kept by flow and by link. It is fixed for a whole replay; what changes is which flows are active.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "platforms/network/topology.hpp"

namespace fourfold::inline sim::inline replay {

// An entry of the matrix seen from a link.
struct FlowShare {
  std::int32_t flow = 0;
  double share = 0.0;

  auto operator<=>(const FlowShare&) const = default;
};

class Incidence {
  // As it is kept: shares are few, each stands once in shares_. A simulation looks at entries all
  // over the matrix, and of half the size more of them stay in the caches.
  struct Entry {
    std::int32_t number = 0;  // of the link or flow
    std::int32_t share = 0;
  };

  template <typename Seen>
  auto seen(const std::vector<Entry>& entries, const std::vector<std::int32_t>& begin,
            std::int32_t row) const {
    const std::span<const Entry> own(entries.data() + begin[row], entries.data() + begin[row + 1]);
    return std::views::transform(own, [shares = shares_.data()](const Entry& entry) {
      return Seen{entry.number, shares[entry.share]};
    });
  }

 public:
  // Flow i loads footprints[i]. Throws std::invalid_argument if a capacity or a share is not
  // positive, or if a footprint names a link that does not exist or names one twice.
  Incidence(std::vector<double> capacities, const std::vector<Footprint>& footprints);

  // The same without links that never decide a rate if flow i stays below bounds[i]: those that all
  // flows together cannot fill, and those that carry exactly what a no wider link carries. A ring
  // loads a NIC's two directions alike, so at least every other link goes. Lone rates are kept; the
  // links that stay are numbered anew, in their order.
  Incidence deciding(const std::vector<double>& bounds) const;

  std::int32_t flow_count() const { return static_cast<std::int32_t>(flow_begin_.size()) - 1; }
  std::int32_t link_count() const { return static_cast<std::int32_t>(capacity_.size()); }
  std::int64_t entry_count() const { return static_cast<std::int64_t>(by_flow_.size()); }

  double capacity(std::int32_t link) const { return capacity_[link]; }
  // Views of LinkShares and FlowShares.
  auto links_of(std::int32_t flow) const { return seen<LinkShare>(by_flow_, flow_begin_, flow); }
  auto flows_on(std::int32_t link) const { return seen<FlowShare>(by_link_, link_begin_, link); }
  // The links of flows from this one on will soon be looked at: where they begin is fetched from
  // memory; then, once that has come, they are.
  void expect_rows(std::int32_t flow) const { __builtin_prefetch(&flow_begin_[flow]); }
  void expect_links(std::int32_t flow, std::int32_t flows) const {
    constexpr std::int32_t in_line = 64 / sizeof(Entry);
    const std::int32_t last = flow_begin_[std::min(flow + flows, flow_count())];
    for (std::int32_t i = flow_begin_[flow]; i < last; i += in_line) {
      __builtin_prefetch(&by_flow_[i]);
    }
  }
  // flows_on() will soon be looked at: its beginning is fetched from memory.
  void expect_flows_on(std::int32_t link) const {
    __builtin_prefetch(by_link_.data() + link_begin_[link]);
  }

  // The rate of a flow that has all its links to itself; infinite without links.
  double lone_rate(std::int32_t flow) const { return lone_rate_[flow]; }

 private:
  Incidence() = default;
  static std::int32_t counted(std::size_t entries);  // refuses what int32 cannot count
  void index_by_link();
  std::vector<std::uint8_t> fillable(const std::vector<double>& bounds) const;

  std::vector<double> capacity_;
  std::vector<double> lone_rate_;
  std::vector<double> shares_;
  std::vector<std::int32_t> flow_begin_;
  std::vector<std::int32_t> link_begin_;
  std::vector<Entry> by_flow_;
  std::vector<Entry> by_link_;
};

}  // namespace fourfold::inline sim::inline replay
