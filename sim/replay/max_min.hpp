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
// whose potential load fits its capacity can never hold anybody back and is left out of every solve;
// most links of a machine are of that kind at any moment. Flows are solved together only if they are
// connected through links that could bind.
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

  double rate(std::int32_t flow) const { return flows_[flow].rate; }

 private:
  struct Flow {
    double rate = 0.0;
    double bound = 0.0;
    std::int64_t visited = 0;  // the solve that reached it last
    bool active = false;
    bool fixed = false;
  };
  struct Link {
    double potential = 0.0;
    double left = 0.0;    // during a solve: capacity not yet given to fixed flows
    double weight = 0.0;  // during a solve: sum of shares of flows not yet fixed
    std::int32_t active = 0;
    std::int32_t unfixed = 0;
    std::int64_t visited = 0;
  };
  // A link and the common rate at which it would be full.
  struct Level {
    double rate = 0.0;
    std::int32_t link = 0;
  };

  bool can_bind(std::int32_t link) const;
  void collect_reachable();
  void fill();
  void fix(std::int32_t flow, double rate);

  const Incidence& incidence_;
  std::vector<Flow> flows_;
  std::vector<Link> links_;
  std::vector<std::int32_t> dirty_links_;
  std::vector<std::int32_t> reached_flows_;
  std::vector<std::int32_t> reached_links_;
  std::vector<std::int32_t> by_bound_;
  std::vector<Level> levels_;
  std::vector<std::int32_t> changed_;
  std::int64_t solve_number_ = 0;
};

}  // namespace fourfold
