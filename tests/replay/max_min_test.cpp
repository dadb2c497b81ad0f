// The sparse solver against progressive filling over everything, from scratch, after every change.
#include "sim/replay/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace fourfold::tests {
namespace {

struct Network {
  std::vector<double> capacities;
  std::vector<Footprint> footprints;
  std::vector<double> bounds;  // by flow; 0: not active
};

// All flows rise together; whoever meets its bound or a full link stays.
std::vector<double> brute_force(const Network& network) {
  std::vector<double> rates(network.bounds.size(), 0.0);
  std::vector<bool> rising;
  for (double bound : network.bounds) rising.push_back(bound > 0.0);
  double level = 0.0;
  while (std::ranges::count(rising, true) > 0) {
    double next = std::numeric_limits<double>::infinity();
    std::vector<double> used(network.capacities.size(), 0.0);
    std::vector<double> growth(network.capacities.size(), 0.0);
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      if (rising[flow]) next = std::min(next, network.bounds[flow]);
      for (const LinkShare& entry : network.footprints[flow]) {
        (rising[flow] ? growth : used)[entry.link] +=
            entry.share * (rising[flow] ? 1.0 : rates[flow]);
      }
    }
    for (std::size_t link = 0; link < used.size(); ++link) {
      if (growth[link] > 0.0) {
        next = std::min(next, (network.capacities[link] - used[link]) / growth[link]);
      }
    }
    level = std::max(level, next);
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      if (!rising[flow]) continue;
      bool stays = network.bounds[flow] <= level * (1 + 1e-12);
      for (const LinkShare& entry : network.footprints[flow]) {
        const double room = network.capacities[entry.link] - used[entry.link];
        stays = stays || room / growth[entry.link] <= level * (1 + 1e-12);
      }
      if (stays) rates[flow] = level;
    }
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      if (rising[flow] && rates[flow] > 0.0) rising[flow] = false;
    }
  }
  return rates;
}

Network random_network(std::mt19937& random) {
  Network network;
  const auto links = static_cast<std::int32_t>(2 + random() % 12);
  const auto flows = static_cast<std::int32_t>(2 + random() % 20);
  for (std::int32_t i = 0; i < links; ++i) {
    network.capacities.push_back(static_cast<double>(1 + random() % 10));
  }
  for (std::int32_t flow = 0; flow < flows; ++flow) {
    Footprint footprint;
    for (std::int32_t link = 0; link < links; ++link) {
      if (random() % 3 == 0)
        footprint.push_back({link, 0.25 * static_cast<double>(1 + random() % 8)});
    }
    network.footprints.push_back(footprint);
    network.bounds.push_back(0.0);
  }
  return network;
}

double random_bound(const Incidence& incidence, std::int32_t flow, std::mt19937& random) {
  return std::min(incidence.lone_rate(flow), 0.25 * static_cast<double>(1 + random() % 20));
}

// As on a large machine: flows that cross a few of many links, so that a change may reach all
// others but concerns few.
Network sparse_network(std::mt19937& random) {
  Network network;
  constexpr std::int32_t links = 80;
  for (std::int32_t i = 0; i < links; ++i) {
    network.capacities.push_back(static_cast<double>(1 + random() % 3));
  }
  for (int flow = 0; flow < 120; ++flow) {
    Footprint footprint;
    for (std::int32_t link = static_cast<std::int32_t>(random() % 20); link < links;
         link += static_cast<std::int32_t>(1 + random() % 40)) {
      footprint.push_back({link, 0.01 * static_cast<double>(1 + random() % 100)});
    }
    network.footprints.push_back(footprint);
    network.bounds.push_back(0.0);
  }
  return network;
}

void follow_comings_and_goings(Network network, int changes, std::mt19937& random) {
  const Incidence incidence(network.capacities, network.footprints);
  const auto flows = static_cast<std::int32_t>(network.footprints.size());
  const Parts alone = Parts::whole(flows);
  MaxMin solver(incidence, alone);

  for (int change = 0; change < changes; ++change) {
    const auto flow = static_cast<std::int32_t>(random() % flows);
    if (network.bounds[flow] > 0.0) {
      network.bounds[flow] = 0.0;
      solver.leave(flow);
    } else {
      network.bounds[flow] = random_bound(incidence, flow, random);
      solver.enter(flow, network.bounds[flow]);
    }
    if (random() % 3 == 0) continue;  // several changes, one solve
    solver.solve();

    const std::vector<double> expected = brute_force(network);
    for (std::int32_t i = 0; i < flows; ++i) {
      ASSERT_NEAR(solver.rate(i), expected[i], 1e-9 * expected[i]) << "flow " << i;
    }
  }
}

TEST(MaxMin, FollowsProgressiveFillingThroughRandomComingsAndGoings) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    follow_comings_and_goings(random_network(random), 30, random);
  }
  for (int round = 0; round < 3; ++round) {
    follow_comings_and_goings(sparse_network(random), 400, random);
  }
}

TEST(MaxMin, RatesAreTheSameWithoutLinksThatDecideNothing) {
  std::mt19937 random(13);
  std::int64_t left_out = 0;
  for (int round = 0; round < 200; ++round) {
    Network network = random_network(random);
    // A wider twin of the first link, as a NIC's other direction is.
    network.capacities.push_back(network.capacities[0] + 1.0);
    const auto twin = static_cast<std::int32_t>(network.capacities.size()) - 1;
    for (Footprint& footprint : network.footprints) {
      if (!footprint.empty() && footprint[0].link == 0) {
        footprint.push_back({twin, footprint[0].share});
      }
    }
    const Incidence all(network.capacities, network.footprints);
    std::vector<double> bounds;
    for (std::int32_t flow = 0; flow < all.flow_count(); ++flow) {
      bounds.push_back(random_bound(all, flow, random));
    }
    const Incidence deciding = all.deciding(bounds);
    const Parts alone = Parts::whole(all.flow_count());
    MaxMin with_all(all, alone);
    MaxMin with_deciding(deciding, alone);

    for (std::int32_t flow = 0; flow < all.flow_count(); ++flow) {
      with_all.enter(flow, bounds[flow]);
      with_deciding.enter(flow, bounds[flow]);
    }
    with_all.solve();
    with_deciding.solve();

    left_out += all.entry_count() - deciding.entry_count();
    for (std::int32_t flow = 0; flow < all.flow_count(); ++flow) {
      EXPECT_NEAR(with_deciding.rate(flow), with_all.rate(flow), 1e-9 * with_all.rate(flow));
      EXPECT_EQ(deciding.lone_rate(flow), all.lone_rate(flow));
    }
  }
  EXPECT_GT(left_out, 0);
}

TEST(MaxMin, AFlowNobodyDisturbsNeedsNoSolve) {
  const Incidence incidence({10.0, 10.0}, {{{0, 1.0}}, {{0, 1.0}}, {{1, 2.0}}});
  const Parts alone = Parts::whole(3);
  MaxMin solver(incidence, alone);

  EXPECT_TRUE(solver.enter(0, 4.0));
  EXPECT_TRUE(solver.enter(2, 5.0));
  EXPECT_FALSE(solver.unsolved());
  EXPECT_EQ(solver.rate(0), 4.0);

  EXPECT_FALSE(solver.enter(1, 10.0));  // 4 + 10 do not fit
  EXPECT_TRUE(solver.unsolved());
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.rate(0), 4.0);
  EXPECT_DOUBLE_EQ(solver.rate(1), 6.0);
  EXPECT_DOUBLE_EQ(solver.rate(2), 5.0);
}

// Parts that come and go together, beside a solver to which each of them comes and goes by itself.
TEST(MaxMin, PartsThatComeAndGoTogetherHaveTheRatesOfSingleOnes) {
  std::mt19937 random(17);
  std::int64_t together = 0, held_up = 0;
  for (int round = 0; round < 60; ++round) {
    const Network network = round % 2 == 0 ? random_network(random) : sparse_network(random);
    const Incidence incidence(network.capacities, network.footprints);
    Parts parts{{0}};
    while (parts.first.back() < incidence.flow_count()) {
      const auto next = parts.first.back() + static_cast<std::int32_t>(1 + random() % 4);
      parts.first.push_back(std::min(next, incidence.flow_count()));
    }
    MaxMin solver(incidence, parts);
    MaxMin single(incidence, parts);
    std::vector<bool> active(parts.count());

    for (int change = 0; change < 100; ++change) {
      const auto c = static_cast<std::int32_t>(random() % static_cast<unsigned>(parts.count()));
      if (active[c]) {
        solver.leave_all(c);
        for (std::int32_t f = parts.first[c]; f < parts.first[c + 1]; ++f) single.leave(f);
      } else {
        double bound = 0.05 * static_cast<double>(1 + random() % 20);
        for (std::int32_t f = parts.first[c]; f < parts.first[c + 1]; ++f) {
          bound = std::min(bound, incidence.lone_rate(f));
        }
        bool free = true;
        for (std::int32_t f = parts.first[c]; f < parts.first[c + 1]; ++f) {
          if (!single.enter(f, bound)) free = false;
        }
        ASSERT_EQ(solver.enter_all(c, bound), free);
        ++(free ? together : held_up);
      }
      active[c] = !active[c];
      ASSERT_EQ(solver.unsolved(), single.unsolved());
      if (random() % 3 == 0) continue;  // several changes, one solve
      ASSERT_EQ(solver.solve(), single.solve());
      for (std::int32_t flow = 0; flow < incidence.flow_count(); ++flow) {
        ASSERT_EQ(solver.rate(flow), single.rate(flow));
      }
    }
    EXPECT_EQ(solver.touched(), single.touched());
  }
  EXPECT_GT(together, 500);
  EXPECT_GT(held_up, 500);
}

TEST(Incidence, RefusesWhatIsNoNetwork) {
  EXPECT_THROW(Incidence({0.0}, {}), std::invalid_argument);
  EXPECT_THROW(Incidence({1.0}, {{{1, 1.0}}}), std::invalid_argument);
  EXPECT_THROW(Incidence({1.0}, {{{0, -1.0}}}), std::invalid_argument);
  EXPECT_THROW(Incidence({1.0}, {{{0, 1.0}, {0, 1.0}}}), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
