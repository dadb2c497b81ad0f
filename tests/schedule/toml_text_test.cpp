// Keys with so many parts that a parser's stack would overflow are refused; text with dots is not.
#include "support/toml_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "support/whole_file.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const std::string& text) {
  const std::string path = testing::TempDir() + "fourfold_toml_text.toml";
  write_whole_file(path, text);
  const std::string said = refusal<std::runtime_error>([&] { read_toml_text(path, ""); });
  std::filesystem::remove(path);
  return said;
}

std::string key_of(int parts, const std::string& dot) {
  std::string key = "a";
  for (int i = 1; i < parts; ++i) key += dot + "\"b\"";
  return key;
}

TEST(TomlText, AKeyHasAtMostSoManyParts) {
  const std::string sentence = "line 2: a key has more than 16 parts";

  EXPECT_EQ(refusal_of("x = 1\n" + key_of(most_key_parts, ".") + " = 1\n"), "accepted");
  EXPECT_THAT(refusal_of("x = 1\n" + key_of(most_key_parts + 1, ".") + " = 1\n"),
              HasSubstr(sentence));
  EXPECT_THAT(refusal_of("x = 1\n[" + key_of(50'000, " . ") + "]\n"), HasSubstr(sentence));
}

TEST(TomlText, DotsOfSentencesNumbersAndRulesAreNone) {
  std::string numbers = "x = [", words = "# ";
  for (int i = 0; i < 100; ++i) {
    numbers += "1.5, ";
    words += "This is one. ";
  }

  EXPECT_EQ(refusal_of(numbers + "]\n"), "accepted");
  EXPECT_EQ(refusal_of(words + "\n" + std::string(200, '.') + "\n"), "accepted");
}

}  // namespace
}  // namespace fourfold::tests
