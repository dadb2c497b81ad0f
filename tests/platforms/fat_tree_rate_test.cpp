// The closed form on fat trees against brute force, over all axes of jobs.
//
// Without rails it is exact. With rails it is exact where strides keep a device's rail, and within
// a factor of two elsewhere.
#include <gtest/gtest.h>

#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

Platform tapered(std::int64_t rails) {
  return fat_tree(switched_node(8, 300), rails, {{8, 2.0}, {4, 3.0}, {4, 1.0}});
}

TEST(fat_tree_rate, without_rails_equals_brute_force) {
  for (std::int64_t devices : {8, 24, 96, 480, 512, 1024}) {
    EXPECT_LT(errors(tapered(1), devices).worst_factor, 1.0 + 1e-9) << devices;
    EXPECT_LT(
        errors(fat_tree(mi250x_node(), 1, {{3, 1.5}, {5, 2.0}, {10, 1.0}}), devices).worst_factor,
        1.0 + 1e-9)
        << devices;
  }
}

TEST(fat_tree_rate, with_rails_equals_brute_force_on_powers_of_two) {
  for (std::int64_t devices : {8, 64, 512, 1024}) {
    EXPECT_LT(errors(tapered(8), devices).worst_factor, 1.0 + 1e-9) << devices;
  }
}

TEST(fat_tree_rate, with_rails_is_near_brute_force_on_irregular_grids) {
  const Errors some = errors(tapered(8), 96);
  const Errors most = errors(tapered(8), 480);

  EXPECT_LT(some.mean, 0.0094);
  EXPECT_LT(some.worst_factor, 1.2667);
  EXPECT_LT(most.mean, 0.0135);
  EXPECT_LT(most.worst_factor, 1.2364);
}

// Of the machines themselves, whose trees are hardly tapered: also on nodes of six devices, and on
// strides that straddle nodes.
TEST(fat_tree_rate, of_the_machines_equals_brute_force) {
  for (const char* name : {"dgx-h100", "selene", "summit", "meta-24k-h100", "jean-zay"}) {
    const Platform platform = read_platform(name);
    for (std::int64_t devices : {36, 60, 96, 108, 320, 512}) {
      if (devices > platform.devices()) continue;

      EXPECT_LT(errors(platform, devices).worst_factor, 1.0 + 1e-9) << name << " " << devices;
    }
  }
}

// 8 nodes of 8 NICs below a leaf that can send up half: neighbouring leaves exchange all.
TEST(fat_tree_rate, is_the_taper_where_everybody_leaves_a_leaf) {
  const AxisRates rates(tapered(1));

  EXPECT_NEAR(rates.rate(64, 2, 128).value, 25 * giga / 2, 1.0);
  EXPECT_NEAR(rates.rate(256, 2, 1024).value, 25 * giga / 6, 1.0);
  EXPECT_NEAR(rates.rate(8, 8, 64).value, 25 * giga, 1.0);
}

// A line over all nodes of a job leaves every leaf once: tapers do not matter to it.
TEST(fat_tree_rate, of_one_long_line_is_the_nics) {
  EXPECT_NEAR(AxisRates(tapered(1)).rate(1, 1024, 1024).value, 200 * giga, 1.0);
}

}  // namespace
}  // namespace fourfold::tests
