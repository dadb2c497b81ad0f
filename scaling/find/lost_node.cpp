// Placements and grids of jobs that lost a node; see lost_node.hpp.
#include "scaling/find/lost_node.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <stdexcept>

namespace fourfold::inline scaling::inline find {

LostNode lost_node_in(const std::string& words) {
  const std::size_t equals = words.find('=');
  const std::string then = equals == std::string::npos ? "" : words.substr(equals + 1);
  LostNode lost{0, then == "replaced"};
  const char* end = words.data() + std::min(equals, words.size());
  const auto parsed = std::from_chars(words.data(), end, lost.node);
  if (parsed.ec != std::errc() || parsed.ptr != end || lost.node < 0 ||
      (then != "replaced" && then != "without")) {
    throw std::runtime_error(fmt::format(
        "--lost-node '{}' is neither NODE=replaced nor NODE=without, such as 17=without", words));
  }
  return lost;
}

Question after_loss(const Question& question, const ProcessGrid& grid, const LostNode& lost,
                    const Platform& platform) {
  if (question.what_ifs.placement.by != Placing::packed) {
    throw std::runtime_error("--lost-node says where the job lies: leave out --placement");
  }
  const std::int64_t in_node = platform.node.devices;
  const std::int64_t nodes = (grid.size() + in_node - 1) / in_node;
  if (lost.node >= nodes) {
    throw std::runtime_error(
        fmt::format("--lost-node: the job lies on nodes 0 to {}, not on {}", nodes - 1, lost.node));
  }
  Question after = question;
  after.grid = grid;
  Placement& placement = after.what_ifs.placement;
  if (lost.replaced) {
    if (nodes == platform.nodes) {
      throw std::runtime_error(
          fmt::format("--lost-node: no node of {} is free to replace {}; the job can go on without "
                      "it: {}=without",
                      platform.name, lost.node, lost.node));
    }
    placement.by = Placing::nodes;
    for (std::int64_t node = 0; node < nodes; ++node) {
      placement.list.push_back(node == lost.node ? nodes : node);
    }
    return after;
  }
  std::set<std::int64_t> gone;  // replicas
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    if (question.options.rank_order.place(grid, rank) / in_node == lost.node) {
      gone.insert(grid.coordinate(rank, Axis::data));
    }
  }
  const std::int64_t replicas = grid.extent(Axis::data);
  const std::int64_t left = replicas - static_cast<std::int64_t>(gone.size());
  if (left == 0) {
    throw std::runtime_error(
        fmt::format("--lost-node: all {} replicas of grid {} have a device on node {}, so the job "
                    "cannot go on without it",
                    replicas, grid.str(), lost.node));
  }
  if (question.global_batch % replicas != 0) {
    throw std::runtime_error(fmt::format("--lost-node: {} sequences do not divide over {} replicas",
                                         question.global_batch, replicas));
  }
  after.grid = ProcessGrid(grid.extent(Axis::x), grid.extent(Axis::y), grid.extent(Axis::z), left,
                           grid.extent(Axis::pipe));
  after.devices = after.grid->size();
  after.global_batch = question.global_batch / replicas * left;
  after.options.rank_order = {};
  placement.by = Placing::devices;
  std::int64_t next = 0;
  std::vector<std::int64_t> kept;  // replica by its new number
  for (; next < replicas; ++next) {
    if (!gone.contains(next)) kept.push_back(next);
  }
  for (std::int64_t rank = 0; rank < after.devices; ++rank) {
    Coordinates at = after.grid->coordinates(rank);
    std::int64_t& replica = at[static_cast<std::size_t>(Axis::data)];
    replica = kept[static_cast<std::size_t>(replica)];
    placement.list.push_back(question.options.rank_order.place(grid, grid.rank(at)));
  }
  return after;
}

}  // namespace fourfold::inline scaling::inline find
