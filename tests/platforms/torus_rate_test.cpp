// The closed form on a torus against brute force, over all axes of jobs. Powers of two: within 20
// %. Irregular grids, whose lines straddle rows: 30 % on average, at most a factor of 2.5.
#include <gtest/gtest.h>

#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold {
namespace {

using test::errors;
using test::Errors;
using test::giga;
using test::torus;

Platform cube() {
  return torus(test::mesh_node(4, 300), {8, 4, 8});
}

TEST(torus_rate, of_powers_of_two_is_near_brute_force) {
  for (std::int64_t devices : {4, 32, 128, 1024}) {
    const Errors found = errors(cube(), devices);

    EXPECT_LT(found.mean, 0.10) << devices;
    EXPECT_LE(found.worst_factor, 2.0 + 1e-9) << devices;
  }
}

TEST(torus_rate, of_irregular_grids_is_near_brute_force) {
  for (std::int64_t devices : {24, 96, 480, 960}) {
    const Errors found = errors(cube(), devices);

    EXPECT_LT(found.mean, 0.35) << devices;
    EXPECT_LE(found.worst_factor, 3.0 + 1e-9) << devices;
  }
}

// Four devices of a node send to the node 4 on, in a ring of 8: 2 messages each cross every link in
// either direction, and there are four devices.
TEST(torus_rate, of_the_longest_distance_loads_both_ways) {
  EXPECT_NEAR(AxisRates(cube()).rate(16, 2, 32).value, 25 * giga / 8, 1.0);
}

}  // namespace
}  // namespace fourfold
