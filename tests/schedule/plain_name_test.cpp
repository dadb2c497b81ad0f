// Names that become files: what is made plain is plain, is a file of its own folder, and stays so.
#include "support/plain_name.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/random.hpp"

namespace fourfold::tests {
namespace {

TEST(PlainNames, StayAsTheyAre) {
  for (const std::string name : {"gpt2-mini", "llama3.1-8b", "a'$(touch X)'b", "q';touch X;'",
                                 "x y", "modèle", "a..b", "%s", "<script>"}) {
    EXPECT_EQ(why_not_plain(name), "") << name;
    EXPECT_EQ(made_plain(name), name);
  }
}

TEST(PlainNames, OthersSayWhyAndAreMadeSo) {
  const std::vector<std::array<std::string, 3>> others{
      {"", "it is empty", "_"},
      {"..", "it begins with a dot", "_."},
      {"../../x", "it has a '/'", "_._.._x"},
      {"/etc/passwd", "it has a '/'", "_etc_passwd"},
      {".hidden", "it begins with a dot", "_hidden"},
      {"-rf", "it begins with a dash", "_rf"},
      {"a\nb", "it has a control character", "a_b"},
      {std::string("a\0b", 3), "it has a control character", "a_b"},
      {"\x1b[31m", "it has a control character", "_[31m"},
      {std::string(300, 'x'), "it has more than 100 bytes", std::string(100, 'x')}};
  for (const auto& [name, why, plain] : others) {
    EXPECT_EQ(why_not_plain(name), why);
    EXPECT_EQ(made_plain(name), plain);
    EXPECT_EQ(why_not_plain(made_plain(name)), "");
  }
}

// A character of several bytes is not cut in two.
TEST(PlainNames, AreCutBetweenCharacters) {
  std::string name = "x";
  for (int i = 0; i < 80; ++i) name += "é";

  EXPECT_EQ(made_plain(name), name.substr(0, 99));
}

// Whatever bytes it is made of.
TEST(PlainNames, AreFilesOfTheFolderThatTheyArePutIn) {
  constexpr std::string_view letters("./-\\ \n\t\0ab\xc3\xa9~$", 15);
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    std::string name;
    const std::uint64_t length = random_at(i, 0, 0) % (i % 50 == 0 ? 300 : 8);
    for (std::uint64_t k = 0; k < length; ++k) name += letters[random_at(i, 1, k) % letters.size()];

    const std::string plain = made_plain(name);

    EXPECT_EQ(why_not_plain(plain), "") << i;
    EXPECT_EQ(made_plain(plain), plain) << i;
    EXPECT_EQ(plain == name, why_not_plain(name).empty()) << i;
    const std::filesystem::path path = (std::filesystem::path("ours") / plain).lexically_normal();
    EXPECT_EQ(path.parent_path(), "ours") << i;
    EXPECT_EQ(path.filename(), plain) << i;
  }
}

}  // namespace
}  // namespace fourfold::tests
