// What is noted of a machine's file though it is taken: rows that fall, and rates that are missing.
#include "platforms/file/notice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/platforms/machines_for_tests.hpp"
#include "tests/platforms/written_machine.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of three rows each with each: a note where the first row has several devices, and for each row
// that is slower than the one before though the inside of the node would carry that.
TEST(OddNotices, AreMadeRowByRow) {
  const auto made = [](const std::vector<std::pair<int, double>>& across,
                       const std::vector<std::pair<int, double>>& in_node) {
    Platform platform = WrittenMachine().read();
    platform.name = "it";
    platform.library.across.clear();
    platform.library.in_node.clear();
    for (const auto& [devices, rate] : across) {
      platform.library.across.push_back({devices, {rate * giga}});
    }
    for (const auto& [devices, rate] : in_node) {
      platform.library.in_node.push_back({devices, {rate * giga}});
    }
    return notices(platform);
  };
  const std::string used = ": it is used as written, but check it";
  EXPECT_THAT(made({{1, 10}, {2, 10}, {4, 12}}, {{2, 50}, {4, 50}}), IsEmpty());
  EXPECT_THAT(made({{1, 10}, {2, 9}, {4, 8}}, {{2, 9.9}, {4, 8.9}}), IsEmpty());
  EXPECT_THAT(made({{1, 10}, {2, 9}, {4, 8}}, {{3, 50}}), IsEmpty());
  EXPECT_THAT(made({{1, 10}, {2, 9}, {4, 8}}, {{2, 10}, {4, 9}}),
              ElementsAre("library.across of it falls from 10 GB/s with 1 device per node to 9 "
                          "with 2, though 2 inside a node reach 10" +
                              used,
                          "library.across of it falls from 9 GB/s with 2 devices per node to 8 "
                          "with 4, though 4 inside a node reach 9" +
                              used));
  EXPECT_THAT(made({{1, 10}, {2, 6}, {4, 8}}, {{2, 20}, {4, 20}}),
              ElementsAre(HasSubstr("from 10 GB/s with 1 device per node to 6 with 2, ")));
  EXPECT_THAT(made({{2, 6}, {4, 8}}, {{2, 20}}),
              ElementsAre("library.across of it starts at 2 devices per node: groups with fewer "
                          "are given the same 6 GB/s, or what the links allow if that is less"));
}

TEST(OddNotices, NameTheRateOfAttentionThatIsMissing) {
  const auto made = [](AttentionSoftware version, bool first, bool third) {
    WrittenMachine machine;
    if (first) machine.processor += "attention_flash_1 = " + number("0.5") + "\n";
    if (third) machine.processor += "attention_flash_3 = " + number("1.5") + "\n";
    Platform platform = machine.read();
    platform.name = "it";
    platform.software.name = "its software";
    platform.software.attention = version;
    const std::vector<std::string> sentences = notices(platform);
    return sentences.empty() ? "" : sentences.front();
  };
  const std::string used = ", the attention of software its software: FlashAttention-2's is used";
  for (bool first : {false, true}) {
    for (bool third : {false, true}) {
      EXPECT_EQ(made(AttentionSoftware::unfused, first, third), "");
      EXPECT_EQ(made(AttentionSoftware::flash_2, first, third), "");
      EXPECT_EQ(made(AttentionSoftware::flash_1, first, third),
                first ? "" : "it has no rate of flash-1" + used);
      EXPECT_EQ(made(AttentionSoftware::flash_3, first, third),
                third ? "" : "it has no rate of flash-3" + used);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
