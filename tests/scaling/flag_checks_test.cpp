// What a flag takes, up to the ends of its range.
#include "support/flag_checks.hpp"

#include <gtest/gtest.h>

namespace fourfold {
namespace {

bool taken(const CLI::Validator& check, std::string word) {
  return check(word).empty();
}

TEST(FlagChecks, AWholeNumberMayBeEitherEndOfItsRange) {
  const CLI::Validator check = whole_number(2, 9);

  EXPECT_TRUE(taken(check, "2"));
  EXPECT_TRUE(taken(check, "9"));
  EXPECT_FALSE(taken(check, "1"));
  EXPECT_FALSE(taken(check, "10"));
  EXPECT_FALSE(taken(check, "9.0"));
  EXPECT_FALSE(taken(check, ""));
}

}  // namespace
}  // namespace fourfold
