// Packed placement, and what a mapping refuses.
#include "platforms/mapping.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fourfold {
namespace {

TEST(mapping, packed_puts_rank_r_on_device_r) {
  const Mapping mapping = Mapping::packed(12);

  EXPECT_EQ(mapping.ranks(), 12);
  EXPECT_EQ(mapping.apply({1, 5, 9}), (std::vector<std::int64_t>{1, 5, 9}));
}

TEST(mapping, counts_the_nodes_it_touches) {
  EXPECT_EQ(Mapping::packed(8).nodes(4), 2);
  EXPECT_EQ(Mapping::packed(9).nodes(4), 3);
  EXPECT_EQ((Mapping{{7, 3, 21}}).nodes(4), 6);
}

TEST(mapping, follows_any_order_of_devices) {
  const Mapping reversed{{3, 2, 1, 0}};

  EXPECT_EQ(reversed.apply({0, 1}), (std::vector<std::int64_t>{3, 2}));
}

TEST(mapping, refuses_an_empty_job_and_ranks_it_does_not_have) {
  const Mapping mapping = Mapping::packed(4);

  EXPECT_THROW(Mapping::packed(0), std::invalid_argument);
  EXPECT_THROW(mapping.apply({4}), std::out_of_range);
  EXPECT_THROW(mapping.apply({-1}), std::out_of_range);
}

}  // namespace
}  // namespace fourfold
