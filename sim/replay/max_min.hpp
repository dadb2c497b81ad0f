// Max-min fair rates of flows that share links: no flow can go faster without slowing one that is
// not faster. After a change, only flows whose rate it contradicts are solved again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/replay/incidence.hpp"
#include "sim/replay/parts.hpp"

namespace fourfold::inline sim::inline replay {

// A flow at rate r takes share * r of each of its links, and never exceeds its own bound.
//
// The potential load of a link is what it would carry if every active flow ran at its bound. A link
// whose potential load fits its capacity can never hold anybody back and is left out of every
// solve; most links of a machine are of that kind at any moment.
//
// Rates are max-min fair exactly if no link is overloaded and each flow runs at its bound or is
// held back by a full link on which no flow is faster. A solve therefore begins with the flows that
// a change concerns directly, shares among them what the others leave, and takes in whichever other
// flow then violates the condition, until none does. Changes that have no link in common are solved
// one after the other: on a large machine many happen within a quantum, far from each other, and
// what is looked at again and again then fits into a near cache.
//
// The parts of a collective that no link can hold back run at one rate: what is known of them is
// kept once for all, and by flow only from when a solve takes one of them. Of a large machine most
// never are, and what a flow has of its own stays out of the caches.
class MaxMin {
 public:
  // Parts of a ring whose links are fetched from memory before they come or go.
  static constexpr std::int32_t ahead = 16;

  // The Incidence and the parts, which are all of its flows, must outlive the solver.
  MaxMin(const Incidence& incidence, const Parts& parts);

  // The flow becomes active; its bound must be positive and at most its lone rate. Returns true if
  // no link can hold it back: then it runs at its bound at once. Otherwise solve() decides.
  bool enter(std::int32_t flow, double bound);
  void leave(std::int32_t flow);
  // The same for all parts of a communicator, one after the other, with one bound. Returns true if
  // no link can hold back any of them.
  bool enter_all(std::int32_t communicator, double bound);
  void leave_all(std::int32_t communicator);
  // The flow will soon enter or leave: its links are fetched from memory. Changes nothing.
  void expect(std::int32_t flow) const {
    for (const LinkShare& entry : incidence_.links_of(flow)) {
      __builtin_prefetch(&links_[entry.link], 1);
    }
  }
  // The same for the communicator: see Transport::on_expect.
  void expect_all(std::int32_t communicator, int lookups) const {
    const std::int32_t first = parts_.first[communicator];
    const std::int32_t last = std::min(first + ahead, parts_.first[communicator + 1]);
    if (lookups == 0) {
      __builtin_prefetch(&together_[communicator], 1);
      incidence_.expect_rows(first);
    } else if (lookups == 1) {
      incidence_.expect_links(first, last - first);
    } else {
      for (std::int32_t flow = first; flow < last; ++flow) expect(flow);
    }
  }

  // True if flows came or went since the last solve such that rates may have changed.
  bool unsolved() const { return !dirty_links_.empty(); }
  // Brings all rates up to date; returns the flows whose rate is new.
  const std::vector<std::int32_t>& solve();

  double rate(std::int32_t flow) const {
    const Together& all = together_[flows_[flow].communicator];
    return all.active ? all.rate : flows_[flow].rate;
  }

  // Entries of the Incidence looked at so far: the solver's work, the same on every machine.
  std::int64_t touched() const { return touched_; }

 private:
  static constexpr std::int32_t none = -1;

  // What a flow that comes or goes looks at: half a cache line, and never parts of two.
  struct alignas(32) Link {
    double used = 0.0;       // at the rates last solved
    double potential = 0.0;  // if all active flows ran at their bounds
    double limit = 0.0;      // a potential above it can bind
    std::int32_t active = 0;
    bool can_bind = false;
    bool dirty = false;  // in dirty_links_
  };
  // What only solves look at.
  struct Holding {
    std::int32_t held = 0;      // active flows that this link holds back
    std::int32_t taken = none;  // in taken_links_
  };
  // As if not active while all parts of its communicator are together.
  struct Flow {
    double rate = 0.0;
    double bound = 0.0;
    std::int32_t held_by = none;  // a full link on which no flow is faster
    std::int32_t taken = none;    // in taken_flows_
    std::int32_t communicator = 0;
    bool active = false;
    bool changed = false;  // in changed_
  };
  // Parts of a communicator that all run at their common bound.
  struct Together {
    double rate = 0.0;
    bool active = false;
  };
  // What is solved anew is copied side by side; links and flows are numbered as they are taken.
  struct TakenLink {
    double room = 0.0;    // capacity that flows not taken leave
    double weight = 0.0;  // sum of shares of the flows taken
    std::int32_t flows = 0;
    std::int32_t link = 0;
    // While filling:
    double left = 0.0;
    double rising_weight = 0.0;
    double fastest = 0.0;  // of the flows that stay
    std::int32_t rising = 0;
    bool full = false;
  };
  struct TakenFlow {
    double rate = 0.0;
    std::int32_t held_by = none;  // as above
    std::int32_t flow = 0;
    std::int32_t first_link = 0;  // in links_of_taken_
    std::int32_t last_link = 0;
    bool rising = false;
  };
  // A link and the common rate at which it would be full, or a flow and its bound.
  struct Level {
    double rate = 0.0;
    std::int32_t number = 0;
  };

  // What links know of a flow that comes or goes. load() returns whether no link can hold it back.
  bool load(std::int32_t flow, double bound);
  void unload(std::int32_t flow, double bound, double rate);
  void begin(std::int32_t flow, double bound, double rate);
  // From now on each part of the communicator has a state of its own.
  void part(std::int32_t communicator);
  void make_dirty(std::int32_t link);
  // Whether a change concerns the flow directly and it has not been taken since.
  bool waits(const Flow& flow) const;
  void take(std::int32_t flow);
  void take_held_by(std::int32_t link);
  void take_neighbours();
  // The same as what follows in a solve, a little earlier: fetches from memory, changes nothing.
  void expect_flows_on(std::int32_t link) const;
  bool take_contradicted();
  // Solves for the flows taken so far and those that these concern.
  void settle();
  void fill();
  void stay(TakenFlow& flow, double rate, std::int32_t held_by);
  void accept();

  const Incidence& incidence_;
  const Parts& parts_;
  std::vector<Together> together_;  // by communicator
  std::vector<Link> links_;
  std::vector<Holding> holdings_;  // by link
  std::vector<Flow> flows_;
  std::vector<std::int32_t> dirty_links_;  // each once
  std::vector<std::int32_t> entered_;
  std::vector<std::int32_t> changed_;
  std::int64_t touched_ = 0;

  std::vector<TakenLink> taken_links_;
  std::vector<TakenFlow> taken_flows_;
  std::vector<LinkShare> links_of_taken_;
  std::vector<Level> levels_;
  std::vector<Level> bounds_;
};

}  // namespace fourfold::inline sim::inline replay
