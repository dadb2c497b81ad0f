// Max-min fair rates of flows that share links: no flow can go faster without slowing one that is
// not faster. Only the part of the machine that a change can reach is solved again.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/incidence.hpp"

namespace fourfold {

// A flow at rate r takes share * r of each of its links, and never exceeds its own bound.
//
// The potential load of a link is what it would carry if every active flow ran at its bound. A link
// whose potential load fits its capacity can never hold anybody back and is left out of every
// solve; most links of a machine are of that kind at any moment. Flows are solved together only if
// they are connected through links that could bind.
class MaxMin {
 public:
  // The Incidence must outlive the solver.
  explicit MaxMin(const Incidence& incidence);

  // The flow becomes active; its bound must be positive and at most its lone rate. Returns true if
  // no link can hold it back: then it runs at its bound at once. Otherwise solve() decides.
  bool enter(std::int32_t flow, double bound);
  void leave(std::int32_t flow);

  // True if flows came or went since the last solve such that rates may have changed.
  bool unsolved() const { return !dirty_links_.empty(); }
  // Brings all rates up to date; returns the flows whose rate is new.
  const std::vector<std::int32_t>& solve();

  double rate(std::int32_t flow) const { return rate_[flow]; }

 private:
  // What a change reaches is copied side by side before it is solved: links and flows are numbered
  // anew in the order in which they are reached, and refer to each other by those numbers.
  struct ReachedLink {
    double left = 0.0;    // capacity not yet given to fixed flows
    double weight = 0.0;  // sum of shares of flows not yet fixed
    std::int32_t unfixed = 0;
    std::int32_t first_flow = 0;  // in flows_on_reached_
    std::int32_t last_flow = 0;
  };
  struct ReachedFlow {
    double bound = 0.0;
    std::int32_t flow = 0;
    std::int32_t first_link = 0;  // in links_of_reached_
    std::int32_t last_link = 0;
    bool fixed = false;
  };
  // A link and the common rate at which it would be full.
  struct Level {
    double rate = 0.0;
    std::int32_t link = 0;
  };
  struct Bound {
    double rate = 0.0;
    std::int32_t flow = 0;
  };

  std::int32_t reach_link(std::int32_t link);
  std::int32_t reach_flow(std::int32_t flow);
  void collect_reachable();
  void fill();
  void fix(ReachedFlow& flow, double rate);

  const Incidence& incidence_;
  std::vector<double> rate_;
  std::vector<double> bound_;
  std::vector<std::uint8_t> active_;
  std::vector<double> potential_;        // by link
  std::vector<double> limit_;            // by link: a potential above it can bind
  std::vector<std::int32_t> active_on_;  // by link: number of active flows
  std::vector<std::uint8_t> can_bind_;   // by link
  std::vector<std::int32_t> dirty_links_;
  std::vector<std::int32_t> changed_;

  std::vector<std::int32_t> link_number_;  // by link: where it was reached, or not_reached
  std::vector<std::int32_t> flow_number_;
  std::vector<std::int32_t> reached_link_names_;
  std::vector<ReachedLink> reached_links_;
  std::vector<ReachedFlow> reached_flows_;
  std::vector<LinkShare> links_of_reached_;
  std::vector<std::int32_t> flows_on_reached_;
  std::vector<Level> levels_;
  std::vector<Bound> bounds_;
};

}  // namespace fourfold
