// Events come out by time, and at one instant in the order in which they went in.
#include "sim/replay/event_queue.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fourfold::tests {
namespace {

TEST(EventQueue, KeepsTimeAndOrder) {
  EventQueue queue;
  queue.push(2.0, {1, 0});
  queue.push(1.0, {2, 0});
  queue.push(2.0, {3, 0});
  queue.push(1.0, {4, 0});

  std::vector<std::int32_t> order;
  while (!queue.empty()) order.push_back(queue.pop().flow);

  EXPECT_EQ(order, (std::vector<std::int32_t>{2, 4, 1, 3}));
}

TEST(EventQueue, SortsRandomTimesWhilePushingAndPopping) {
  std::mt19937 random(3);
  EventQueue queue;
  double now = 0.0;
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
    now = next;
    --waiting;
  }
}

}  // namespace
}  // namespace fourfold::tests
