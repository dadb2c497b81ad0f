// SimGrid's own communications beside ours: one per edge of every ring, on the same machine and
// with the same routes, against one collective per ring whose parts are the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "sim/replay/flow_network.hpp"
#include "sim/replay/machine.hpp"

namespace fourfold::tests {
namespace {

namespace s4u = simgrid::s4u;

struct Ring {
  std::vector<std::int64_t> members;
  double bytes_per_edge = 0.0;
};

std::vector<std::pair<std::int64_t, std::int64_t>> edges(const Ring& ring) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (std::size_t i = 0; i < ring.members.size(); ++i) {
    result.emplace_back(ring.members[i], ring.members[(i + 1) % ring.members.size()]);
  }
  return result;
}

// Rings along y and z of a packed 4 x 4 x 8 grid at once, those along z with twice the bytes: they
// share NICs, and links inside and between groups.
std::vector<Ring> wave() {
  const ProcessGrid grid(4, 4, 8, 1);
  std::vector<Ring> rings;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const auto place = grid.coordinates(rank);
    if (place[1] == 0) rings.push_back({grid.line(rank, Axis::y), 50e6});
    if (place[2] == 0) rings.push_back({grid.line(rank, Axis::z), 100e6});
  }
  return rings;
}

Platform small_dragonfly() {
  Platform platform = read_platform("perlmutter");
  auto& network = std::get<DragonflyNetwork>(platform.network);
  network.nodes_per_group = 8;
  network.switches_per_group = 4;
  network.local_detours = 0;
  network.global_detours = 0;
  return platform;
}

double with_flows(const Topology& topology, const std::vector<Ring>& rings) {
  std::vector<double> capacities;
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    capacities.push_back(topology.capacity(link).value);
  }
  std::vector<Footprint> footprints;
  Parts parts{{0}};
  for (const Ring& ring : rings) {
    for (const auto& [from, to] : edges(ring)) {
      std::vector<std::int32_t> path;
      topology.minimal_route(from, to, path);
      Footprint& load = footprints.emplace_back();
      for (std::int32_t link : path) load.push_back({link, 1.0});
      merge(load);
    }
    parts.first.push_back(static_cast<std::int32_t>(footprints.size()));
  }
  const Incidence incidence(capacities, footprints);
  FlowNetwork network(incidence, parts, {0.0});
  double end = 0.0;
  network.on_finish([&end](std::int32_t, double time) { end = std::max(end, time); });
  for (std::size_t i = 0; i < rings.size(); ++i) {
    network.start(static_cast<std::int32_t>(i), 0.0,
                  {0, {}, {{0.0}, {rings[i].bytes_per_edge}, {1e15}}, {}});
  }
  Machine machine;
  machine.run(network);
  return end;
}

double with_stock_communications(const Topology& topology, const std::vector<Ring>& rings) {
  Machine machine(topology);
  const double start = s4u::Engine::get_clock();
  std::vector<s4u::CommPtr> communications;
  for (const Ring& ring : rings) {
    for (const auto& [from, to] : edges(ring)) {
      s4u::CommPtr communication = s4u::Comm::sendto_init();
      communication->set_payload_size(static_cast<std::uint64_t>(ring.bytes_per_edge));
      communication->set_source(machine.device(from));
      communication->set_destination(machine.device(to));  // starts it
      communications.push_back(communication);
    }
  }
  machine.run();
  return s4u::Engine::get_clock() - start;
}

constexpr double agreement = 1e-6;  // SimGrid counts whole bytes and solves to 1e-5 of a rate

TEST(StockCommunications, AgreeWithFlowsOnAWaveOfRings) {
  const Platform platform = small_dragonfly();
  const Topology topology(platform, 32);
  const std::vector<Ring> rings = wave();

  const double flows = with_flows(topology, rings);
  const double stock = with_stock_communications(topology, rings);

  double alone = 0.0;
  for (const Ring& ring : rings) alone = std::max(alone, ring.bytes_per_edge / 25e9);
  EXPECT_GT(flows, 1.2 * alone);  // the wave does contend
  EXPECT_NEAR(flows, stock, agreement * stock);
}

// Rings over scattered devices: every edge meets other traffic, and one that is done early leaves
// its links to others.
TEST(StockCommunications, AgreeWithFlowsOnScatteredRings) {
  const Platform platform = small_dragonfly();
  const Topology topology(platform, 32);
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::int64_t> place(128);
    std::iota(place.begin(), place.end(), 0);
    std::shuffle(place.begin(), place.end(), random);
    std::vector<Ring> rings = wave();
    for (Ring& ring : rings) {
      for (std::int64_t& member : ring.members) member = place[member];
    }

    const double flows = with_flows(topology, rings);
    const double stock = with_stock_communications(topology, rings);

    EXPECT_NEAR(flows, stock, agreement * stock) << "round " << round;
  }
}

}  // namespace
}  // namespace fourfold::tests
