// The closed form on a torus against brute force, over all axes of jobs. Powers of two: within 13
// %. Irregular grids, whose lines straddle rows: 25 % on average, at most a factor of 2.5.
#include <gtest/gtest.h>

#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

Platform cube() {
  return torus(mesh_node(4, 300), {8, 4, 8});
}

TEST(torus_rate, of_powers_of_two_is_near_brute_force) {
  for (std::int64_t devices : {4, 32, 128}) {
    EXPECT_LT(errors(cube(), devices).worst_factor, 1.0 + 1e-9) << devices;
  }
  const Errors whole = errors(cube(), 1024);
  const Errors shipped = errors(read_platform("torus"), 512);

  EXPECT_LT(whole.mean, 0.0037);
  EXPECT_LE(whole.worst_factor, 1.125 + 1e-9);
  EXPECT_LT(shipped.mean, 0.0017);
  EXPECT_LT(shipped.worst_factor, 1.0236);
}

TEST(torus_rate, on_one_ring_of_routers_equals_brute_force) {
  const Platform ring = torus(mesh_node(2, 300), {16});
  for (std::int64_t devices : {4, 8, 16, 32}) {
    EXPECT_LT(errors(ring, devices).worst_factor, 1.0 + 1e-9) << devices;
  }
  EXPECT_LT(errors(ring, 24).mean, 0.0967);
}

// As near as it ever was: what a changed distance or carry costs shows here.
TEST(torus_rate, of_irregular_grids_is_near_brute_force) {
  const Errors some = errors(cube(), 96);
  const Errors most = errors(cube(), 480);
  const Errors flat = errors(torus(mesh_node(4, 300), {6, 5}), 120);

  EXPECT_LT(some.mean, 0.1251);
  EXPECT_LE(some.worst_factor, 2.0 + 1e-9);
  EXPECT_LT(most.mean, 0.2542);
  EXPECT_LE(most.worst_factor, 2.5 + 1e-9);
  EXPECT_LT(flat.mean, 0.1848);
  EXPECT_LE(flat.worst_factor, 2.0 + 1e-9);
}

// Four devices of a node send to the node 4 on, in a ring of 8: 2 messages each cross every link in
// either direction, and there are four devices.
TEST(torus_rate, of_the_longest_distance_loads_both_ways) {
  EXPECT_NEAR(AxisRates(cube()).rate(16, 2, 32).value, 25 * giga / 8, 1.0);
}

}  // namespace
}  // namespace fourfold::tests
