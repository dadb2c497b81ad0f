// A torus of routers, one a node, with dimension-order routing: a message corrects its first
// coordinate, then the second, and so on, each by the shorter way round.
//
//   (1,0) -> (2,0) -> (3,0) -> (3,1)      from (1,0) to (3,1): first dimension first
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/network/link.hpp"
#include "platforms/network/network.hpp"

namespace fourfold::inline platforms::inline network {

// Where both ways round are equally long, `route` takes half of the message each way and
// `minimal_route` ascends. All routers of the machine are there, since messages of a job that does
// not fill it may pass through others.
class Torus {
 public:
  // Throws std::invalid_argument on impossible numbers or more nodes than the torus has.
  Torus(const TorusNetwork& network, std::int64_t nodes);

  // Per router and dimension a link on to the next router and one back to the previous.
  std::int32_t link_count() const { return routers_ * dimensions() * 2; }
  LinkKind kind(std::int32_t) const { return LinkKind::torus; }
  double capacity(std::int32_t) const { return link_capacity_; }  // bytes/s
  std::string link_name(std::int32_t link) const;  // "router 17 -> router 18 (dimension 0 on)"

  // Both append the network's own links, numbered from `first`; the NICs are the caller's.
  void route(Port from, Port to, double share, std::int32_t first, Footprint& path) const;
  void minimal_route(Port from, Port to, std::int32_t first, std::vector<std::int32_t>& path) const;

  std::int32_t dimensions() const { return static_cast<std::int32_t>(extents_.size()); }
  std::int32_t extent(std::int32_t dimension) const { return extents_[dimension]; }
  // Routers between two neighbours of a dimension in the numbering: 1, extents[0], ...
  std::int32_t step(std::int32_t dimension) const { return steps_[dimension]; }
  double link_capacity() const { return link_capacity_; }

 private:
  enum Way : std::int32_t { on, back };
  std::int32_t link(std::int32_t router, std::int32_t dimension, Way way) const {
    return (router * dimensions() + dimension) * 2 + way;
  }
  std::int32_t neighbour(std::int32_t router, std::int32_t dimension, Way way) const;
  // Visits `hops` links from `router` along a dimension; returns where it ends.
  template <typename Visitor>
  std::int32_t walk(std::int32_t router, std::int32_t dimension, std::int32_t hops, Way way,
                    Visitor visit) const;
  // How far on `to` is from `from` along a dimension: 0 .. extent - 1.
  std::int32_t distance_on(std::int32_t from, std::int32_t to, std::int32_t dimension) const;

  std::vector<std::int32_t> extents_, steps_;
  std::int32_t routers_ = 1;
  double link_capacity_;
};

}  // namespace fourfold::inline platforms::inline network
