// Greedy packing of Hamiltonian cycles: repeatedly the cycle with the widest bottleneck; among
// equals the one that uses scarce links least. Exhaustive to 8 members, nearest neighbour above.
#include "platforms/node/rings.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

namespace fourfold::inline platforms::inline node {
namespace {

constexpr int exhaustive_members = 8;
constexpr int most_rings = 16;
// A further ring must add at least this fraction of the first one's width.
constexpr double least_width = 0.05;

enum class Hops { direct, any };

struct Ring {
  std::vector<int> order;
  double width = 0.0;
  double scarcity = std::numeric_limits<double>::infinity();
};

class RingSearch {
 public:
  RingSearch(const NodeGraph& graph, const std::vector<int>& members, Hops hops)
      : graph_(graph),
        members_(members),
        hops_(hops),
        left_(graph.link_count()),
        uses_(graph.link_count()) {
    for (std::int32_t link = 0; link < graph.link_count(); ++link) {
      left_[link] = graph.capacity(link);
    }
  }

  // The widest ring on what is left, no wider than `width`.
  Ring best_ring(double width) {
    best_ = {};
    limit_ = width;
    if (static_cast<int>(members_.size()) <= exhaustive_members) {
      order_.assign(1, members_.front());
      rest_.assign(members_.begin() + 1, members_.end());
      extend(limit_, 0.0);
    } else {
      for (int start : members_) nearest_neighbours(start);
    }
    return best_;
  }

  void take(const Ring& ring) {
    const std::size_t count = ring.order.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (std::int32_t link : graph_.path(ring.order[i], ring.order[(i + 1) % count])) {
        left_[link] = std::max(0.0, left_[link] - ring.width);
      }
    }
  }

 private:
  struct Step {
    double width;
    double scarcity;
  };

  // Width and scarcity after one more edge; a link crossed twice by one ring counts twice.
  Step crossed(int from, int to, Step so_far) {
    if (hops_ == Hops::direct && !graph_.is_direct(from, to)) so_far.width = 0.0;
    for (std::int32_t link : graph_.path(from, to)) {
      ++uses_[link];
      so_far.width = std::min(so_far.width, left_[link] / uses_[link]);
      so_far.scarcity += 1.0 / left_[link];  // infinite only where the width is zero
    }
    return so_far;
  }

  void uncross(int from, int to) {
    for (std::int32_t link : graph_.path(from, to)) --uses_[link];
  }

  bool hopeless(Step step) const {
    return step.width <= 0.0 || step.width < best_.width ||
           (step.width == best_.width && step.scarcity >= best_.scarcity);
  }

  void extend(double width, double scarcity) {
    const int last = order_.back();
    if (rest_.empty()) {
      const Step closed = crossed(last, order_.front(), {width, scarcity});
      if (!hopeless(closed)) best_ = {order_, closed.width, closed.scarcity};
      uncross(last, order_.front());
      return;
    }
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const int next = rest_[i];
      const Step step = crossed(last, next, {width, scarcity});
      if (!hopeless(step)) {
        order_.push_back(next);
        rest_.erase(rest_.begin() + static_cast<std::ptrdiff_t>(i));
        extend(step.width, step.scarcity);
        rest_.insert(rest_.begin() + static_cast<std::ptrdiff_t>(i), next);
        order_.pop_back();
      }
      uncross(last, next);
    }
  }

  void nearest_neighbours(int start) {
    std::fill(uses_.begin(), uses_.end(), 0);
    std::vector<int> order{start};
    std::vector<int> rest;
    std::copy_if(members_.begin(), members_.end(), std::back_inserter(rest),
                 [start](int member) { return member != start; });
    Step ring{limit_, 0.0};
    while (!rest.empty()) {
      std::size_t chosen = 0;
      Step widest{-1.0, 0.0};
      for (std::size_t i = 0; i < rest.size(); ++i) {
        const Step step = crossed(order.back(), rest[i], ring);
        uncross(order.back(), rest[i]);
        if (step.width > widest.width ||
            (step.width == widest.width && step.scarcity < widest.scarcity)) {
          widest = step;
          chosen = i;
        }
      }
      ring = crossed(order.back(), rest[chosen], ring);
      order.push_back(rest[chosen]);
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    ring = crossed(order.back(), start, ring);
    if (!hopeless(ring)) best_ = {order, ring.width, ring.scarcity};
  }

  const NodeGraph& graph_;
  const std::vector<int>& members_;
  Hops hops_;
  std::vector<double> left_;  // capacity not yet taken by rings
  std::vector<int> uses_;     // how often the ring under construction crosses each link
  std::vector<int> order_, rest_;
  double limit_ = 0.0;
  Ring best_;
};

std::vector<Ring> pack(const NodeGraph& graph, const std::vector<int>& members, Hops hops,
                       double width) {
  RingSearch search(graph, members, hops);
  std::vector<Ring> rings;
  while (static_cast<int>(rings.size()) < most_rings) {
    Ring ring = search.best_ring(width);
    if (ring.order.empty() || ring.width < least_width * width) break;
    search.take(ring);
    rings.push_back(std::move(ring));
  }
  return rings;
}

double total_width(const std::vector<Ring>& rings) {
  double total = 0.0;
  for (const Ring& ring : rings) total += ring.width;
  return total;
}

// Where a switch alone joins the devices, one ring in their order fills every port: what the search
// finds, which with 72 of them takes long.
bool only_a_switch(const NodeGraph& graph) {
  for (std::int32_t link = 0; link < graph.link_count(); ++link) {
    if (std::max(graph.from(link), graph.to(link)) < graph.devices()) return false;
  }
  return true;
}

std::vector<Ring> ring_in_order(const NodeGraph& graph, const std::vector<int>& members) {
  Ring ring{members, std::numeric_limits<double>::max()};
  for (std::int32_t link : graph.path(members[0], members[1])) {
    ring.width = std::min(ring.width, graph.capacity(link));
  }
  return {ring};
}

std::vector<Ring> widest_rings(const NodeGraph& graph, const std::vector<int>& members) {
  if (only_a_switch(graph)) return ring_in_order(graph, members);
  constexpr double unlimited = std::numeric_limits<double>::max();
  Hops hops = Hops::direct;
  double widest = RingSearch(graph, members, hops).best_ring(unlimited).width;
  if (widest <= 0.0) {
    hops = Hops::any;
    widest = RingSearch(graph, members, hops).best_ring(unlimited).width;
  }
  std::vector<Ring> best;
  for (int parts = 1; parts <= 3; ++parts) {
    std::vector<Ring> rings = pack(graph, members, hops, widest / parts);
    // Thinner rings must gain something: more rings cost a library more channels.
    if (total_width(rings) > 1.001 * total_width(best)) best = std::move(rings);
  }
  return best;
}

}  // namespace

NodeRings node_rings(const NodeGraph& graph, DeviceSet set) {
  std::vector<int> members;
  for (int device = 0; device < graph.devices(); ++device) {
    if (set >> device & 1U) members.push_back(device);
  }
  if (members.size() < 2) return {};

  const std::vector<Ring> best = widest_rings(graph, members);
  NodeRings result{total_width(best), {}, {}};
  for (const Ring& ring : best) {
    result.rings.push_back({ring.order, ring.width / result.rate});
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      const int next = ring.order[(i + 1) % ring.order.size()];
      for (std::int32_t link : graph.path(ring.order[i], next)) {
        result.shares.push_back({link, ring.width / result.rate});
      }
    }
  }
  merge(result.shares);
  return result;
}

}  // namespace fourfold::inline platforms::inline node
