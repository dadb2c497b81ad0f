// What a flag takes, up to the ends of its range.
#include "support/flag_checks.hpp"

#include <gtest/gtest.h>

namespace fourfold::tests {
namespace {

TEST(FlagChecks, ANumberIsInItsRangeUpToBothEnds) {
  const auto expect = [](const CLI::Validator& check, const std::vector<std::string>& taken,
                         const std::vector<std::string>& refused) {
    for (std::string word : taken) EXPECT_EQ(check(word), "") << word;
    for (std::string word : refused) EXPECT_NE(check(word), "") << word;
  };
  expect(whole_number(2, 9), {"2", "9"}, {"1", "10", "9.0", ""});
  expect(number(0.5, 2.0), {"0.5", "2e0"}, {"0.49", "2.1", "inf", "nan", "1e999", "1x", "", "-1"});
  expect(number(0.0), {}, {"inf"});
}

std::string parsed(const std::vector<std::string>& words) {
  CLI::App app;
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  double part = 0.0;
  std::string name;
  CLI::App* below = app.add_subcommand("below", "");
  below->add_option("--count", count);
  below->add_option("--seed", seed);
  below->add_option("--part", part);
  below->add_option("--name", name);
  check_all_values(app);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(FlagChecks, EveryValueIsChecked) {
  EXPECT_EQ(parsed({"below", "--count", "7", "--seed", "8", "--part", "-0.5", "--name", "x"}), "");
  for (const std::string flag : {"--count", "--seed"}) {
    for (const char* word : {"-1", "99999999999999999999", "1.5", "", "0x10"}) {
      EXPECT_NE(parsed({"below", flag, word}), "") << flag << ' ' << word;
    }
  }
  for (const char* word : {"inf", "nan", "", "1e999"}) {
    EXPECT_NE(parsed({"below", "--part", word}), "") << word;
  }
  EXPECT_NE(parsed({"below", "--name", ""}), "");
}

TEST(FlagChecks, AByteThatIsNoLetterIsRefused) {
  EXPECT_EQ(stray_bytes({"fourfold", "gr\xC3\xBC\xC3\x9F dich", ""}), "");
  EXPECT_NE(stray_bytes({"fourfold", "a\xFF"}), "");
  EXPECT_NE(stray_bytes({"\xC3"}), "");
}

}  // namespace
}  // namespace fourfold::tests
