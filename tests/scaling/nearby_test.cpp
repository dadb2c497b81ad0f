// What is offered instead of a question without an answer does have one.
#include "scaling/find/nearby.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/find/candidates.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

Question question(std::int64_t devices) {
  Question result;
  result.platform = "frontier";
  result.model = {"small", 4, 1024, 8, 1024, 4096};
  result.devices = devices;
  result.global_batch = 64;
  return result;
}

std::string refusal(const Question& asked) {
  return tests::refusal<FindingFailed>(
      [&] { candidates(asked, read_platform(asked.platform), [](const std::string&, double) {}); });
}

TEST(Nearby, NamesCountsAndABatchThatFit) {
  // Nothing of the model or of 64 sequences divides by 7; 7 x 9 sequences do.
  const Platform platform = read_platform("frontier");

  EXPECT_EQ(nearby(question(7), platform),
            "4 or 8 devices would fit, and so would 7 devices with a batch of 64512 tokens (63 "
            "sequences)");
  EXPECT_EQ(refusal(question(4)), "accepted");
  EXPECT_EQ(refusal(question(8)), "accepted");
  Question other = question(7);
  other.global_batch = 63;
  EXPECT_EQ(refusal(other), "accepted");
}

TEST(Nearby, ARefusalCountsItsReasons) {
  EXPECT_THAT(refusal(question(7)),
              HasSubstr("small fits no grid of 7 devices of frontier (4 combinations tried, "
                        "rejected 1 by heads, 1 by divisibility, 2 by batch); 4 or 8 devices "
                        "would fit"));
}

TEST(Nearby, ARefusalOfMicroBatchesNamesThoseThatFit) {
  Question asked = question(32);
  asked.micro_batches = 3;

  EXPECT_THAT(refusal(asked), HasSubstr("with 3 micro-batches; 1, 2, 4, 8, 16, 32, 64 "
                                        "micro-batches would fit"));
}

}  // namespace
}  // namespace fourfold::tests
