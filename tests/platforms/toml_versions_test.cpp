// A machine's file that changes while it is used: what was read of it stays for one more change,
// and what has not changed is not parsed again.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "platforms/file/fact_table.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

std::string path() {
  return scratch("changing.toml").string();
}

const toml::table& parsed(int number) {
  std::ofstream(path()) << "number = " << number << "\n";
  return parse_toml(path());
}

TEST(TomlVersions, StayUntilTheFileHasChangedTwice) {
  const toml::table& first = parsed(1);
  const toml::table& second = parsed(2);

  EXPECT_NE(&first, &second);
  EXPECT_EQ(first["number"].value_or(0), 1);
  EXPECT_EQ(second["number"].value_or(0), 2);
  EXPECT_EQ(&parsed(2), &second);
  EXPECT_EQ(parsed(3)["number"].value_or(0), 3);
  EXPECT_EQ(second["number"].value_or(0), 2);
  EXPECT_EQ(parsed(1)["number"].value_or(0), 1);
}

TEST(TomlVersions, OfAFileThatHasGoneOrBrokenAreRefused) {
  parsed(1);
  std::ofstream(path()) << "number = \n";

  EXPECT_THROW(parse_toml(path()), std::runtime_error);
  EXPECT_EQ(parsed(1)["number"].value_or(0), 1);
  std::filesystem::remove(path());
  EXPECT_THROW(parse_toml(path()), std::runtime_error);
}

// What is looked at would not be what the system opens.
TEST(TomlVersions, ATextWithAZeroInItIsRefusedWhereverItStands) {
  for (const char* text : {"a = \"b\\u0000c\"\n", "\"a\\u0000\" = 1\n", "a = [1, [\"\\u0000\"]]\n",
                           "[a]\nb = { c = \"\\U00000000\" }\n"}) {
    std::ofstream(path()) << text;
    EXPECT_THROW(parse_toml(path()), std::runtime_error) << text;
  }
}

TEST(JsonObjects, NoTextWithAZeroInItIsRead) {
  for (const char* text : {R"({"a": "b\u0000c"})", R"({"a\u0000": 1})", R"({"a": [1, ["\u0000"]]})",
                           R"("\\\u0000")"}) {
    EXPECT_THROW(parse_json(text, "a file"), std::runtime_error) << text;
    EXPECT_FALSE(json_in(text)) << text;
    EXPECT_TRUE(json_in(text, ZeroLetters::kept)) << text;
  }
  // What only looks like one: its backslash is itself a letter.
  EXPECT_EQ(parse_json(R"({"a": "\\u0000"})", "a file").at("a"), "\\u0000");
}

}  // namespace
}  // namespace fourfold::tests
