// What messages and rings load on links, by the links' names and by their kinds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platforms/network/topology.hpp"

namespace fourfold::tests {

inline std::map<std::string, double> by_name(const Topology& topology, const Footprint& footprint) {
  std::map<std::string, double> shares;
  for (const LinkShare& entry : footprint) shares[topology.link_name(entry.link)] += entry.share;
  return shares;
}

inline std::map<LinkKind, double> by_kind(const Topology& topology, const Footprint& footprint) {
  std::map<LinkKind, double> shares;
  for (const LinkShare& entry : footprint) shares[topology.kind(entry.link)] += entry.share;
  return shares;
}

using Names = std::vector<std::string>;

// Of a minimal route, in the order in which a message passes them.
inline Names names(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<std::int32_t> path;
  topology.minimal_route(from, to, path);
  Names names;
  for (std::int32_t link : path) names.push_back(topology.link_name(link));
  return names;
}

}  // namespace fourfold::tests
