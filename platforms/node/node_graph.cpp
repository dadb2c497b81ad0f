// Paths inside a node: widest bottleneck by Floyd-Warshall, then a breadth-first search over the
// links that are at least that wide.
#include "platforms/node/node_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fourfold::inline platforms::inline node {

NodeGraph::NodeGraph(const Node& node) : devices_(node.devices) {
  const int n = devices_;
  std::vector<double> width(static_cast<std::size_t>(n) * n, 0.0);
  std::vector<std::int32_t> direct(static_cast<std::size_t>(n) * n, -1);
  for (const InnerLink& link : node.links) {
    if (link.a < 0 || link.b < 0 || link.a >= n || link.b >= n || link.a == link.b) {
      throw std::invalid_argument(fmt::format(
          "inner link {}-{} must join two different devices of 0..{}", link.a, link.b, n - 1));
    }
    for (auto [a, b] : {std::pair{link.a, link.b}, std::pair{link.b, link.a}}) {
      const int pair = a * n + b;
      if (link.bandwidth.value > width[pair]) {
        width[pair] = link.bandwidth.value;
        direct[pair] = link_count();
      }
      from_.push_back(a);
      to_.push_back(b);
      capacity_.push_back(link.bandwidth.value);
    }
  }
  const std::int32_t into_switch = link_count();
  if (node.switch_port) {
    for (int device = 0; device < n; ++device) {
      for (auto [from, to] : {std::pair{device, n}, std::pair{n, device}}) {
        from_.push_back(from);
        to_.push_back(to);
        capacity_.push_back(node.switch_port->value);
      }
    }
  }
  for (int via = 0; via < n; ++via) {
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b < n; ++b) {
        width[a * n + b] =
            std::max(width[a * n + b], std::min(width[a * n + via], width[via * n + b]));
      }
    }
  }
  paths_.resize(static_cast<std::size_t>(n) * n);
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      const int pair = a * n + b;
      if (direct[pair] < 0 && node.switch_port) {
        paths_[pair] = {into_switch + 2 * a, into_switch + 2 * b + 1};
        continue;
      }
      if (width[pair] <= 0.0) {
        throw std::invalid_argument(fmt::format(
            "devices {} and {} of a node are not connected: add inner links that join them", a, b));
      }
      paths_[pair] = direct[pair] >= 0 ? std::vector<std::int32_t>{direct[pair]}
                                       : shortest_path(a, b, width[pair]);
    }
  }
}

std::string NodeGraph::link_name(std::int32_t link) const {
  const auto end = [this](int device) {
    return device == devices_ ? std::string("switch") : fmt::format("device {}", device);
  };
  return end(from_[link]) + " -> " + end(to_[link]);
}

std::vector<std::int32_t> NodeGraph::shortest_path(int from, int to, double width) const {
  std::vector<std::int32_t> reached_by(devices_, -1);
  std::vector<int> frontier{from};
  for (std::size_t i = 0; i < frontier.size() && reached_by[to] < 0; ++i) {
    for (std::int32_t link = 0; link < link_count(); ++link) {
      if (from_[link] != frontier[i] || capacity_[link] < width) continue;
      if (to_[link] == from || reached_by[to_[link]] >= 0) continue;
      reached_by[to_[link]] = link;
      frontier.push_back(to_[link]);
    }
  }
  std::vector<std::int32_t> path;
  for (int device = to; device != from; device = from_[path.back()]) {
    path.push_back(reached_by[device]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::int32_t> nic_of_devices(const Node& node) {
  std::vector<std::int32_t> nic_of(node.devices, -1);
  for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
    for (int device : node.nics[nic].devices) {
      if (device < 0 || device >= node.devices) {
        throw std::invalid_argument(fmt::format("NIC {} serves device {}: devices are 0..{}", nic,
                                                device, node.devices - 1));
      }
      if (nic_of[device] < 0) nic_of[device] = static_cast<std::int32_t>(nic);
    }
  }
  return nic_of;
}

}  // namespace fourfold::inline platforms::inline node
