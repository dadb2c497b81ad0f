// Text in and text out: lines whatever ended them, JSON and TOML that nest without end, what a
// terminal may show, and errors of libraries in our words.
#include "support/text_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/plain_sentence.hpp"
#include "support/toml_text.hpp"
#include "support/visible_text.hpp"
#include "support/whole_file.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

class TextFile : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("text");
};

TEST_F(TextFile, HasLinesWhateverEndsThem) {
  for (const char* text : {"a\nb\n", "a\r\nb\r\n",
                           "\xef\xbb\xbf"
                           "a\nb\r\n"}) {
    write_whole_file(path_, text);

    EXPECT_EQ(read_text_file(path_), "a\nb\n");
    const std::vector<TextLine> lines = read_lines(path_);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1].number, 2);
    EXPECT_EQ(lines[1].text, "b");
    EXPECT_TRUE(lines[1].ended);
  }
}

TEST_F(TextFile, TellsALastLineThatIsCutOff) {
  EXPECT_FALSE(lines_of("a\nb").back().ended);
  EXPECT_EQ(lines_of("a\nb").back().text, "b");
  EXPECT_EQ(lines_of("a\n\n").size(), 2U);
  EXPECT_TRUE(lines_of("").empty());
  write_whole_file(path_, "a\rb\n");  // which ends no line
  EXPECT_EQ(read_text_file(path_), "a\rb\n");
}

TEST_F(TextFile, ThatIsAbsentMayHaveNoLinesButOneThatCannotBeReadIsRefused) {
  EXPECT_TRUE(read_own_lines(path_).empty());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal<std::runtime_error>([&] { read_own_lines(path_, "the log"); }),
            "cannot read the log " + path_ + ": it is no plain file");
  std::filesystem::remove(path_);
  for (const std::string& target : {path_ + ".gone", std::string("/etc/hostname")}) {
    std::filesystem::create_symlink(target, path_);
    EXPECT_EQ(refusal<std::runtime_error>([&] { read_own_lines(path_, "the log"); }),
              "cannot read the log " + path_ +
                  ": it is a link, which might lead out of its folder; remove it");
    std::filesystem::remove(path_);
  }
  EXPECT_EQ(refusal<std::runtime_error>([&] { read_text_file(std::string(5000, 'x')); }),
            "cannot read " + std::string(5000, 'x') + ": File name too long");
}

TEST_F(TextFile, HasAtMostSoManyBytes) {
  write_whole_file(path_, "12345");
  EXPECT_EQ(read_text_file(path_, "", 5), "12345");
  EXPECT_EQ(refusal<std::runtime_error>([&] { read_text_file(path_, "the list", 4); }),
            "cannot read the list " + path_ + ": it has 5 bytes, and at most 4 are read");
}

TEST(Json, NestsOnlySoDeep) {
  const auto deep = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(json_in(deep(most_json_depth)));
  for (const std::string& text :
       {deep(most_json_depth + 1), deep(200'000), std::string(200'000, '['),
        R"({"a\"": )" + deep(most_json_depth) + "}"}) {
    EXPECT_FALSE(json_in(text));
    EXPECT_EQ(refusal<std::runtime_error>([&] { parse_json(text, "it"); }),
              "it is not read: its JSON nests more than 100 lists and objects");
  }
  EXPECT_TRUE(json_in(R"(["[[[[", "\\", ")" + std::string(300, '{') + "\"]"));
}

TEST(Json, WritesNamesThatAreNoText) {
  EXPECT_EQ(json_text({{"name", "a\xff"}}), "{\"name\":\"a\xef\xbf\xbd\"}");
}

TEST(Json, TakesWholeNumbersForWhatTheyAre) {
  EXPECT_EQ(whole_in(5, 5), 5);
  EXPECT_FALSE(whole_in(6, 5));
  EXPECT_FALSE(whole_in(-1));
  EXPECT_FALSE(whole_in(1.0));
  EXPECT_FALSE(whole_in("1"));
  EXPECT_EQ(whole_in(any_whole_number), any_whole_number);
  EXPECT_FALSE(whole_in(std::uint64_t{any_whole_number} + 1));
}

TEST(Visible, ShowsWhatMovesATerminal) {
  EXPECT_EQ(visible("a\tb\nc \xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xa3"),
            "a\tb\nc \xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xa3");
  EXPECT_EQ(visible("\x1b[2J\a\r\x7f"), "\\x1b[2J\\x07\\x0d\\u007f");
  EXPECT_EQ(visible(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible("\xc2\x9b"
                    "2J"),
            "\\u009b2J");  // a control sequence in two bytes
  EXPECT_EQ(visible("\x9b"
                    "2J \xff"),
            "\\x9b2J \\xff");                                                 // no UTF-8
  EXPECT_EQ(visible("\xe2\x80\xae"), "\\u202e");                              // right to left
  EXPECT_EQ(visible("\xc0\xaf \xed\xa0\x80"), "\\xc0\\xaf \\xed\\xa0\\x80");  // too long, half
  EXPECT_EQ(visible("\xe2\x82"), "\\xe2\\x82");                               // cut off
}

TEST(PlainSentence, QuotesNoLibrary) {
  const auto said = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const std::exception& error) {
      return plain_sentence(error);
    }
    return std::string();
  };
  EXPECT_EQ(said([] { throw std::runtime_error("the grid is too large"); }),
            "the grid is too large");
  EXPECT_EQ(said([] { (void)std::filesystem::is_empty("/no/such"); }),
            "cannot use /no/such: No such file or directory");
  for (const auto& call : std::vector<std::function<void()>>{
           [] { (void)std::stoi("x"); }, [] { (void)std::string("a").substr(2); },
           [] { (void)std::vector<int>().at(1); }, [] { (void)std::map<int, int>().at(1); },
           [] { (void)nlohmann::json(1).at("a"); },
           [] { nlohmann::json(1) = nlohmann::json::parse("{"); },
           [] { (void)std::optional<int>().value(); }}) {
    EXPECT_TRUE(said(call).starts_with("Fourfold was not made") ||
                said(call).starts_with("what was read as JSON"))
        << said(call);
  }
}

using ::testing::HasSubstr;

std::string refusal_of(const std::string& text) {
  return refusal<std::runtime_error>(
      [&] { read_from(text, [](const std::string& path) { return read_toml_text(path, ""); }); });
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
