// Unrolls the program and names the rings of every group.
#include "sim/replay/listing.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <variant>
#include <vector>

#include "platforms/node/node_graph.hpp"
#include "platforms/node/rings.hpp"
#include "sim/replay/issue_stream.hpp"
#include "sim/replay/load.hpp"
#include "sim/replay/paces.hpp"
#include "sim/replay/strands.hpp"

namespace fourfold::inline sim::inline replay {
namespace {

struct RankRing {
  double share = 1.0;
  std::vector<std::int64_t> ranks;
};

std::vector<RankRing> rings_of(const std::vector<std::int64_t>& line, const Platform& platform) {
  const std::int64_t per_node = platform.node.devices;
  const auto node = [&](std::int64_t rank) { return rank / per_node; };
  if (std::holds_alternative<CrossbarNetwork>(platform.network)) return {{1.0, line}};
  const auto together = [&](std::int64_t a, std::int64_t b) { return node(a) == node(b); };
  if (std::adjacent_find(line.begin(), line.end(), together) == line.end()) return {{1.0, line}};
  if (node(line.front()) != node(line.back())) {
    throw std::invalid_argument(
        fmt::format("Ranks {} to {} of one group share some of their nodes, but not all: the "
                    "witness takes groups inside a node of {} devices, or with one rank a node.",
                    line.front(), line.back(), per_node));
  }
  DeviceSet set = 0;
  for (std::int64_t rank : line) set |= DeviceSet{1} << (rank % per_node);
  std::vector<RankRing> rings;
  for (const NodeRing& ring : node_rings(NodeGraph(platform.node), set).rings) {
    rings.push_back({ring.share, {}});
    for (int device : ring.order) {
      rings.back().ranks.push_back(node(line.front()) * per_node + device);
    }
  }
  return rings;
}

}  // namespace

std::string listing(const TimedProgram& program, const ProcessGrid& grid, const Platform& platform,
                    const std::vector<double>& factors) {
  if (grid.extent(Axis::pipe) > 1) {
    throw std::invalid_argument(
        "A listing says what every rank does, but the stages of a pipeline do different things: "
        "the "
        "witness takes grids without pipe.");
  }
  const Paces paces(program, factors);
  const auto by_pace = unroll(paces, grid, Repetitions::full(program));
  const IssueStream& stream = by_pace.front().front();
  std::string text = fmt::format("ranks {}\n", grid.size());
  auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < program.collectives.size(); ++i) {
    const TimedCollective& collective = program.collectives[i];
    const CollectiveCost& cost = collective.cost;
    const std::int64_t members = grid.extent(program.channels[collective.channel].axis);
    if (members == 1) continue;
    fmt::format_to(out, "class {} {:.17g} {:.17g} {:.17g} {}\n", i, cost.delay.value,
                   cost.work.value, cost.rate_cap.value, ring_steps(collective.kind, members));
  }
  const std::vector<Motion> motions = channel_motions(program);
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    if (stream.posts[c].empty()) continue;
    for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
      const std::vector<std::int64_t> line = grid.line(rank, program.channels[c].axis);
      if (line.front() != rank) continue;
      if (goes_by_pairs(motions[c])) {
        fmt::format_to(out, "{} {} {}\n", motions[c] == Motion::pairs ? "pairs" : "line",
                       name(program.channels[c]), fmt::join(line, " "));
        continue;
      }
      for (const RankRing& ring : rings_of(line, platform)) {
        fmt::format_to(out, "ring {} {:.17g} {}\n", name(program.channels[c]), ring.share,
                       fmt::join(ring.ranks, " "));
      }
    }
  }
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    if (paces.of(rank) != 0) fmt::format_to(out, "pace {} {}\n", rank, paces.of(rank));
  }
  for (std::size_t i = 0; i < stream.operations.size(); ++i) {
    const Operation& operation = stream.operations[i];
    if (operation.compute.value > 0.0) {
      text += "compute";
      for (const auto& stages : by_pace) {
        fmt::format_to(out, " {:.17g}", stages.front().operations[i].compute.value);
      }
      text += "\n";
    }
    if (operation.kind == Operation::Kind::mark) continue;
    const auto& posts = stream.posts[operation.channel];
    if (operation.kind == Operation::Kind::post) {
      fmt::format_to(out, "post {} {}\n", name(program.channels[operation.channel]),
                     posts[static_cast<std::size_t>(operation.number)].collective);
    } else {
      fmt::format_to(out, "wait {} {}\n", name(program.channels[operation.channel]),
                     operation.number);
    }
  }
  return text;
}

}  // namespace fourfold::inline sim::inline replay
