// What a software says about memory: read, taken over from another, scaled, refused; and what that
// leaves of a device's capacity.
#include "platforms/software_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "platforms/device_memory.hpp"
#include "schedule/program/function.hpp"
#include "tests/platforms/platform_files.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string written(const std::string& name, const std::string& text) {
  const auto path = scratch(name + ".toml");
  std::ofstream(path) << "title = \"mine\"\nlike = \"megatron-core\"\n" << text;
  return path.string();
}

Platform with(const std::string& software, const Scales& scales = {}) {
  return read_platform("crossbar", scales, software);
}

double keeps(const SoftwareMemory& memory, const Function& function) {
  for (const FunctionBytes& one : memory.functions) {
    if (one.function == &function) return one.keeps;
  }
  return 0.0;
}

TEST(SoftwareMemory, IsTheStepsWhereASoftwareSaysNothing) {
  const SoftwareMemory memory = software_memory(with("fused"));

  EXPECT_TRUE(memory.functions.empty());
  EXPECT_FALSE(memory.weights.has_value());
}

TEST(SoftwareMemory, OfMegatronIs18BytesAParameterAndAMaskForEachDropout) {
  const SoftwareMemory memory = software_memory(with("megatron-core"));

  EXPECT_EQ(*memory.weights + *memory.gradients + *memory.optimizer, 18.0);
  EXPECT_TRUE(memory.gradients_ahead);
  EXPECT_EQ(keeps(memory, functions::bias_residual), 1.0);
}

TEST(SoftwareMemory, IsTakenOverFromAnotherUnlessTheFileHasItsOwn) {
  const std::string kept = written("kept", "");
  const std::string own = written("own", "[memory]\nweights = { value = 3, source = \"me\" }\n");

  EXPECT_EQ(software_memory(with(kept)).optimizer, 12.0);
  EXPECT_EQ(software_memory(with(own)).weights, 3.0);
  EXPECT_FALSE(software_memory(with(own)).optimizer.has_value());
}

TEST(SoftwareMemory, IsScaledAsItsFactsAre) {
  const Scales twice{{"software.memory.keeps.bias_residual", 2.0},
                     {"software.memory.workspaces_MiB", 0.5}};

  const SoftwareMemory scaled = software_memory(with("megatron-core", twice));

  EXPECT_EQ(keeps(scaled, functions::bias_residual), 2.0);
  EXPECT_EQ(scaled.workspaces * 2.0, software_memory(with("megatron-core")).workspaces);
}

std::string refusal(const std::string& text) {
  return tests::refusal<std::runtime_error>([&] { with(written("refused", text)); });
}

TEST(SoftwareMemory, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal("[memory]\nweight = { value = 2, source = \"me\" }\n"), HasSubstr("weights"));
  EXPECT_THAT(refusal("[memory]\nweights = { value = 2 }\n"), HasSubstr("source"));
  EXPECT_THAT(refusal("[memory.keeps]\nswigl = { value = 2, source = \"me\" }\n"),
              HasSubstr("swiglu"));
  EXPECT_THAT(refusal("[memory]\nweights = { value = -2, source = \"me\" }\n"),
              HasSubstr("weights"));
}

TEST(DeviceMemory, ChanceFallsAsThePeakGrowsAndIsOneHalfAtTheLimit) {
  const Platform platform = with("megatron-core");
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
  const Platform platform = with("megatron-core");
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

TEST(DeviceMemory, AllocatedIsLessThanReservedIsLessThanUsed) {
  const SoftwareMemory memory = software_memory(with("nanotron"));
  const Bytes allocated{1e10};

  EXPECT_LT(allocated, reserved_memory(allocated, memory));
  EXPECT_LT(reserved_memory(allocated, memory), used_memory(allocated, memory));
}

}  // namespace
}  // namespace fourfold::tests
