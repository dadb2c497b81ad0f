// What a software leaves of a device's capacity, and with which chance a step fits.
#include "platforms/device_memory.hpp"

#include <gtest/gtest.h>

#include "platforms/software_memory.hpp"

namespace fourfold::tests {
namespace {

TEST(DeviceMemory, ChanceFallsAsThePeakGrowsAndIsOneHalfAtTheLimit) {
  const Platform platform = read_platform("crossbar", {}, "megatron-core");
  const Bytes limit = memory_limit(platform);

  EXPECT_NEAR(chance_to_fit(limit, platform), 0.5, 1e-9);
  double before = 1.0;
  for (double share = 0.5; share < 1.5; share += 0.05) {
    const double chance = chance_to_fit(limit * share, platform);
    EXPECT_LE(chance, before);
    before = chance;
  }
  EXPECT_STREQ(fits_in_words(chance_to_fit(limit * 0.8, platform)), "fits");
  EXPECT_STREQ(fits_in_words(chance_to_fit(limit, platform)), "may fit");
  EXPECT_STREQ(fits_in_words(chance_to_fit(limit * 1.2, platform)), "does not fit");
}

// What fits half of the time fills the device, with all that is there beside the step; on a machine
// that does not say which share may be filled.
TEST(DeviceMemory, IsFullWithContextCommunicatorsAndReserve) {
  for (const char* software : {"megatron-core", "nanotron", "fused"}) {
    const Platform platform = read_platform("frontier", {}, software);
    const double room = platform.processor.memory.value;
    const Bytes used = used_memory(memory_limit(platform), software_memory(platform));
    EXPECT_NEAR(used.value, room, 1e-6 * room) << software;
  }
}

TEST(DeviceMemory, LimitOfARiskHasThatRisk) {
  const Platform platform = read_platform("crossbar", {}, "megatron-core");
  for (double risk : {0.01, 0.1, 0.3, 0.5, 0.9}) {
    EXPECT_NEAR(chance_to_fit(memory_limit(platform, risk), platform), 1.0 - risk, 1e-6);
  }
}

// With so large a reserve that the model's own spread is none beside it.
TEST(DeviceMemory, WithTheReserveOfNineOfTenRunsFitsInNineOfTen) {
  const Platform platform =
      read_platform("frontier", {{"software.memory.reserved_most", 8.0}}, "nanotron");
  const SoftwareMemory memory = software_memory(platform);
  const Bytes room = platform.processor.memory - memory.context - memory.communicators;

  EXPECT_NEAR(chance_to_fit(room / memory.reserved_most, platform), 0.9, 1e-3);
}

}  // namespace
}  // namespace fourfold::tests
