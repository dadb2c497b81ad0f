// A device's memory as the engine sees it, on the processor and on a device that is kept apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/backend.hpp"
#include "engine/bf16.hpp"
#include "engine/weights.hpp"
#include "schedule/order/step.hpp"
#include "tests/apart_memory.hpp"

namespace fourfold::tests {
namespace {

std::vector<float> read(DeviceMemory& memory, const std::byte* at, std::int64_t elements) {
  return numbers_of(memory, {const_cast<std::byte*>(at), 1, elements, Precision::fp32});
}

void write(DeviceMemory& memory, std::byte* at, const std::vector<float>& values) {
  memory.copy_in(at, reinterpret_cast<const std::byte*>(values.data()),
                 static_cast<std::int64_t>(4 * values.size()));
}

class EveryMemory : public testing::TestWithParam<MemoryReach> {
 protected:
  EveryMemory() : apart_(GetParam()) {}
  DeviceMemory& memory() {
    if (GetParam() == MemoryReach::host) return host_;
    return apart_;
  }

 private:
  HostMemory host_;
  ApartMemory apart_;
};

TEST_P(EveryMemory, CopiesSumsAndForgetsInTheOrderItWasAsked) {
  const DeviceBlock block = memory().allocate(64);
  std::byte* const a = block.data();

  write(memory(), a, {1, 2, 3, 4});
  memory().copy(a + 16, a, 16);
  memory().fill_zeros(a, 8);
  memory().reduce({Owed::sum, Precision::fp32}, a + 32, a, a + 16, 4);
  memory().reduce({Owed::max, Precision::fp32}, a, a + 32, a + 16, 2);
  memory().copy(a + 4, a, 8);  // onto itself

  EXPECT_EQ(read(memory(), a, 4), (std::vector<float>{1, 1, 2, 4}));
  EXPECT_EQ(read(memory(), a + 32, 4), (std::vector<float>{1, 2, 6, 8}));
}

// 2^-8 is half a step of bf16 from 1 on: 1 stays, the number behind it goes on to the next but one.
TEST_P(EveryMemory, RoundsSumsInBf16ThatLieHalfWayUpToEven) {
  const DeviceBlock block = memory().allocate(12);
  const std::array<std::uint16_t, 4> numbers{0x3f80, 0x3f81, 0x3b80, 0x3b80};
  memory().copy_in(block.data(), reinterpret_cast<const std::byte*>(numbers.data()), 8);

  memory().reduce({Owed::sum, Precision::bf16}, block.data() + 8, block.data(), block.data() + 4,
                  2);

  std::array<std::uint16_t, 2> sums{};
  memory().copy_out(reinterpret_cast<std::byte*>(sums.data()), block.data() + 8, 4);
  EXPECT_EQ(sums, (std::array<std::uint16_t, 2>{0x3f80, 0x3f82}));
}

// The numbers of the first step are those of the processor, in either precision.
TEST_P(EveryMemory, StartsWithTheSameWeights) {
  const Model model{"small", 2, 16, 8, 3, 11};
  const ProcessGrid grid(2, 1, 2, 1);
  HostMemory host;
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    StepOptions options;
    options.precision = precision;
    const Program program = record_step(model, options);
    Weights expected(program, grid, 1, host), weights(program, grid, 1, memory());

    expected.initialise(model, 7);
    weights.initialise(model, 7);

    for (const Stored& stored : weights.all()) {
      EXPECT_EQ(numbers_of(memory(), stored.block), numbers_of(host, expected[stored.name].block))
          << stored.name;
    }
  }
}

// A table of 80,000 words by 16 columns is rounded in two stretches.
TEST(Weights, OfMoreThanAMillionElementsAreTheirMastersRounded) {
  const Model model{"wordy", 1, 16, 2, 4, 80'000};
  const Program program = record_step(model, {});
  HostMemory host;
  Weights weights(program, ProcessGrid(), 0, host);

  weights.initialise(model, 7);

  std::int64_t longest = 0;
  for (std::size_t i = 0; i + 1 < weights.all().size(); ++i) {
    const Stored& weight = weights.all()[i];
    if (!weight.has_master) continue;
    std::vector<float> expected = numbers_of(host, weights.all()[i + 1].block);
    for (float& number : expected) number = rounded_to_bf16(number);
    longest = std::max(longest, weight.block.size());
    EXPECT_TRUE(numbers_of(host, weight.block) == expected) << weight.name;
  }
  EXPECT_GT(longest, 1 << 20);
}

constexpr std::array<const char*, 3> reach_names{"Host", "Mpi", "Device"};

INSTANTIATE_TEST_SUITE_P(Reaches, EveryMemory,
                         testing::Values(MemoryReach::host, MemoryReach::mpi, MemoryReach::device),
                         [](const auto& info) {
                           return reach_names[static_cast<std::size_t>(info.param)];
                         });

TEST(HostView, OfTheProcessorsMemoryIsThatMemory) {
  HostMemory memory;
  const DeviceBlock block = memory.allocate(8);
  HostView view(memory);

  EXPECT_EQ(view.read(block.data(), 8), block.data());
  EXPECT_EQ(view.open(block.data(), 8), block.data());
}

// A view's copy grows with what is read and written, holds all of it, and changes nothing beside.
TEST_P(EveryMemory, IsReadAndWrittenThroughAViewOfAnyLengths) {
  constexpr std::int64_t most = 1 << 20;
  const DeviceBlock block = memory().allocate(4 * most);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 64, 0U);
  EXPECT_EQ(block.bytes(), 4 * most);
  HostView view(memory());
  std::vector<float> numbers(most);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1009 + 1);
  for (const std::int64_t elements : {std::int64_t{1}, std::int64_t{1000}, most, std::int64_t{7}}) {
    const std::int64_t bytes = 4 * elements, before = elements == most ? 0 : 16;
    std::byte* const at = block.data() + 4 * before;
    memory().fill_zeros(block.data(), 4 * most);

    std::memcpy(view.open(at, bytes), numbers.data(), static_cast<std::size_t>(bytes));
    view.close();

    EXPECT_EQ(std::memcmp(view.read(at, bytes), numbers.data(), static_cast<std::size_t>(bytes)),
              0);
    std::vector<float> expected(most);
    std::copy_n(numbers.begin(), elements, expected.begin() + before);
    EXPECT_EQ(read(memory(), block.data(), most), expected) << elements;
  }
}

// A device that the host reaches may still compute later than it is asked.
TEST(HostView, WaitsForWhatWasAskedBefore) {
  ApartMemory memory(MemoryReach::host);
  const DeviceBlock block = memory.allocate(8);
  HostView view(memory);

  write(memory, block.data(), {1, 2});
  float second = 0.0F;
  std::memcpy(&second, view.read(block.data() + 4, 4), 4);
  EXPECT_EQ(second, 2.0F);

  write(memory, block.data(), {3, 4});
  const float five = 5.0F;
  std::memcpy(view.open(block.data() + 4, 4), &five, 4);
  view.close();
  EXPECT_EQ(read(memory, block.data(), 2), (std::vector<float>{3, 5}));
}

// All blocks begin at cache lines, share no byte, and are zero where nothing was put.
TEST(Weights, LieApartAndStartAsZeros) {
  const Model model{"small", 3, 20, 4, 3, 11};
  HostMemory memory;
  for (const std::int64_t bucket : {0, 100}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      StepOptions options;
      options.precision = precision;
      options.offload_bucket = bucket;
      const ProcessGrid grid(2, 2, 3, 1);
      const Weights weights(record_step(model, options), grid, 5, memory);

      std::vector<std::pair<const std::byte*, std::int64_t>> blocks;
      std::int64_t on_device = 0, on_host = 0;
      for (const Stored& stored : weights.all()) {
        const std::int64_t lines = (stored.block.bytes() + 63) / 64 * 64;
        (stored.memory == &memory ? on_device : on_host) += lines;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stored.block.data) % 64, 0U) << stored.name;
        EXPECT_EQ(&weights[stored.name], &stored);
        for (float number : numbers_of(*stored.memory, stored.block)) ASSERT_EQ(number, 0.0F);
        for (const auto& [other, bytes] : blocks) {
          EXPECT_TRUE(other + bytes <= stored.block.data ||
                      stored.block.data + stored.block.bytes() <= other)
              << stored.name;
        }
        blocks.emplace_back(stored.block.data, stored.block.bytes());
      }
      EXPECT_EQ(weights.bytes(), on_device);
      EXPECT_EQ(weights.bytes_on_host(), on_host);
      EXPECT_EQ(on_host > 0, bucket > 0);
      EXPECT_THROW(weights["block9.qkv.weight"], std::invalid_argument);
    }
  }
}

// Or the tests above would show nothing.
TEST(ApartMemory, KillsWhoFollowsItsAddressesAndDoesNothingBeforeSomebodyWaits) {
  ApartMemory memory, reached(MemoryReach::mpi);
  const DeviceBlock block = memory.allocate(8), other = reached.allocate(1);
  EXPECT_DEATH(*block.data() = std::byte{1}, "");
  EXPECT_THROW(memory.fill_zeros(block.data() + 4, 8), std::logic_error);
  reached.fill_zeros(other.data(), 1);
  EXPECT_NE(*other.data(), std::byte{0});
  reached.finish();
  EXPECT_EQ(*other.data(), std::byte{0});
}

}  // namespace
}  // namespace fourfold::tests
