// Seconds of inputs of blocks that go to the host and come back: a copy each way, beside nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/estimate/estimate.hpp"
#include "tests/drawn_points.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

Point recomputing(const std::string& machine) {
  Point point;
  point.platform = path_of_machine(machine);
  point.model = {"small", 6, 960, 12, 512, 5000};
  point.options.recompute = Recompute::full;
  return point;
}

TEST(OffloadActivations, TakeTwoCopiesOfEachInput) {
  for (const char* machine : {"dragonfly", "torus", "fat-tree-2"}) {
    const Platform platform = read_platform(path_of_machine(machine));
    for (const std::int64_t micro_batches : {1, 4}) {
      Point point = recomputing(machine);
      point.options.micro_batches = micro_batches;
      point.global_batch = 2 * micro_batches;
      Point away = point;
      away.options.offload_activations = true;

      const double longer = (estimate_step(away, platform).outcome.total -
                             estimate_step(point, platform).outcome.total)
                                .value;

      const Processor& processor = platform.processor;
      const Bytes input{2.0 * 512 * 960 * 2};
      const Seconds copy = std::max(input / *processor.host_link + processor.launch_overhead,
                                    platform.software.dispatch);
      const double copies = 2.0 * 6.0 * static_cast<double>(micro_batches);
      EXPECT_NEAR(longer, copies * copy.value, 1e-6 * copies * copy.value) << machine;
    }
  }
}

TEST(OffloadActivations, NeedALinkToTheHost) {
  Point point = recomputing("crossbar");
  point.global_batch = 1;
  point.options.offload_activations = true;
  const Platform platform = read_platform(point.platform);

  EXPECT_THAT(refusal([&] { estimate_step(point, platform); }),
              HasSubstr("does not say what a device's link to its host sustains, which activations "
                        "on the host need: processor.host_link_GBps"));
  point.options.recompute = Recompute::none;
  EXPECT_EQ(refusal([&] { estimate_step(point, platform); }), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
