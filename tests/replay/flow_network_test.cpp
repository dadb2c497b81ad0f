// Flows one by one: delay, rate cap, sharing, and what happens within a quantum; their events come
// out by time, and at one instant in the order in which they went in.
#include "sim/replay/flow_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "sim/replay/event_queue.hpp"

namespace fourfold::tests {
namespace {

// Two flows over one link of 10 bytes/s, a third with a link of its own.
const Incidence& incidence() {
  static const Incidence one({10.0, 10.0}, {{{0, 1.0}}, {{0, 1.0}}, {{1, 1.0}}});
  return one;
}

TimedCollective costing(double delay, double work, double cap) {
  return {0, CollectiveKind::all_reduce, {{delay}, {work}, {cap}}, {}};
}

std::map<std::int32_t, double> run(FlowNetwork& network) {
  std::map<std::int32_t, double> ends;
  network.on_finish([&ends](std::int32_t flow, double time) { ends[flow] = time; });
  while (!std::isinf(network.next_time())) network.advance();
  return ends;
}

TEST(FlowNetwork, AloneAFlowTakesDelayAndWorkOverRate) {
  FlowNetwork network(incidence(), Parts::whole(3), {0.0});
  network.start(0, 1.0, costing(0.5, 40.0, 20.0));  // link 10 < cap 20
  network.start(2, 1.0, costing(0.5, 40.0, 5.0));   // cap 5 < link 10

  const auto ends = run(network);

  EXPECT_DOUBLE_EQ(ends.at(0), 1.0 + 0.5 + 4.0);
  EXPECT_DOUBLE_EQ(ends.at(2), 1.0 + 0.5 + 8.0);
}

TEST(FlowNetwork, FlowsShareALinkOnlyWhileTheyMove) {
  // Flow 0 moves alone from 0 to 1, shares from 1 to 3, is done; flow 1 goes on alone.
  FlowNetwork network(incidence(), Parts::whole(3), {0.0});
  network.start(0, 0.0, costing(0.0, 20.0, 100.0));
  network.start(1, 0.0, costing(1.0, 40.0, 100.0));  // a delay of 1 loads no link

  const auto ends = run(network);

  EXPECT_DOUBLE_EQ(ends.at(0), 3.0);  // 10 + 2 * 5 = 20
  EXPECT_DOUBLE_EQ(ends.at(1), 6.0);  // 2 * 5 + 3 * 10 = 40
}

void share_a_link(FlowNetwork& network) {
  network.start(0, 0.0, costing(0.0, 20.0, 100.0));
  network.start(1, 0.0, costing(1.0, 40.0, 100.0));
}

TEST(FlowNetwork, ItsWorkIsCountedAndLimited) {
  FlowNetwork counted(incidence(), Parts::whole(3), {0.0});
  share_a_link(counted);
  run(counted);
  const std::int64_t work = counted.counts().work;
  FlowNetwork allowed(incidence(), Parts::whole(3), {0.0});
  FlowNetwork limited(incidence(), Parts::whole(3), {0.0});
  allowed.limit_work(work);
  limited.limit_work(work - 1);
  share_a_link(allowed);
  share_a_link(limited);

  EXPECT_GT(work, 0);
  EXPECT_NO_THROW(run(allowed));
  EXPECT_EQ(allowed.counts().work, work);
  EXPECT_THROW(run(limited), FlowNetwork::TooMuchWork);
}

// Both parts would end at 10; one of them is slowed on the way and ends when its link lets it.
TEST(FlowNetwork, APartThatIsHeldUpEndsApartFromTheOthers) {
  const Incidence two_links({10.0, 10.0}, {{{0, 1.0}}, {{1, 1.0}}, {{0, 1.0}}});
  FlowNetwork network(two_links, Parts{{0, 2, 3}}, {0.0});
  network.start(0, 0.0, costing(0.0, 100.0, 100.0));
  network.start(1, 0.0, costing(5.0, 100.0, 100.0));

  const auto ends = run(network);

  EXPECT_DOUBLE_EQ(ends.at(0), 15.0);
  EXPECT_DOUBLE_EQ(ends.at(1), 20.0);
}

TEST(FlowNetwork, ItTellsWhatWillFinishLookUpByLookUpBeforeItDoes) {
  FlowNetwork network(incidence(), Parts::whole(3), {0.5});
  network.start(0, 0.0, costing(0.0, 10.0, 100.0));
  network.start(2, 0.0, costing(0.0, 11.0, 100.0));  // ends within a quantum of the other
  std::vector<std::pair<std::int32_t, int>> told;
  network.on_expect([&told](std::int32_t flow, int lookups) { told.emplace_back(flow, lookups); });
  std::vector<std::size_t> told_before;
  network.on_finish([&](std::int32_t, double) { told_before.push_back(told.size()); });

  while (!std::isinf(network.next_time())) network.advance();

  const std::vector<std::pair<std::int32_t, int>> both{{0, 0}, {2, 0}, {0, 1},
                                                       {2, 1}, {0, 2}, {2, 2}};
  EXPECT_EQ(told, both);
  EXPECT_EQ(told_before, (std::vector<std::size_t>{6, 6}));
}

// Ten flows come within nine hundredths of a second: the first needs no solve, has the link to
// itself until the others are solved, and so leaves alone; those leave within a tenth of a second.
// Nobody is left for whom the last one's leaving must be solved.
TEST(FlowNetwork, WhatHappensWithinAQuantumSharesOneSolve) {
  const Incidence crowded({10.0}, std::vector<Footprint>(10, {{0, 1.0}}));
  const auto counts_with = [&](double quantum) {
    FlowNetwork network(crowded, Parts::whole(10), {quantum});
    for (int flow = 0; flow < 10; ++flow) {
      network.start(flow, 0.01 * flow, costing(0.0, 10.0, 100.0));
    }
    run(network);
    return network.counts();
  };

  const FlowNetwork::Counts together = counts_with(0.1);
  const FlowNetwork::Counts apart = counts_with(0.0);

  EXPECT_EQ(together.solves, 1 + 1 + 1);
  EXPECT_EQ(apart.solves, 9 + 9);
  EXPECT_EQ(together.events, apart.events);
  EXPECT_EQ(together.finished, 10);
}

TEST(FlowNetwork, AQuantumErrsByNoMoreThanItself) {
  const double quantum = 0.01;
  std::map<double, std::map<std::int32_t, double>> ends;
  for (double q : {0.0, quantum}) {
    FlowNetwork network(incidence(), Parts::whole(3), {q});
    network.start(0, 0.0, costing(0.0, 20.0, 100.0));
    network.start(1, 0.009, costing(0.0, 20.0, 100.0));
    ends[q] = run(network);
  }

  for (std::int32_t flow : {0, 1}) {
    EXPECT_NEAR(ends[quantum].at(flow), ends[0.0].at(flow), quantum);
  }
}

TEST(EventQueue, KeepsTimeAndOrderWhilePushingAndPopping) {
  std::mt19937 random(3);
  EventQueue queue;
  double now = 0.0;
  std::int32_t last = -1;  // that came out
  std::size_t waiting = 0;
  for (int round = 0; round < 20000; ++round) {
    if (waiting == 0 || random() % 2 == 0) {
      // Few distinct distances, so that instants are shared.
      queue.push(now + 0.5 * static_cast<double>(random() % 50), {round, 0});
      ++waiting;
      continue;
    }
    const double next = queue.next_time();
    const Event announced = queue.next();
    ASSERT_EQ(queue.pop().flow, announced.flow);
    ASSERT_GE(next, now);
    if (next == now) {
      ASSERT_GT(announced.flow, last);
    }
    now = next;
    last = announced.flow;
    --waiting;
  }
}

}  // namespace
}  // namespace fourfold::tests
