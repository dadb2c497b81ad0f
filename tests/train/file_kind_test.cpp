// Files of words by how they begin: what is no text and no token is refused by what it is called,
// whatever its name; the heads of NumPy say what they say.
#include "engine/train/data/file_kind.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

std::string packed_refusal(const std::string& beginning) {
  return refusal<std::runtime_error>([&] { refuse_packed(beginning); });
}

std::string text_refusal(const std::string& part) {
  return refusal<std::runtime_error>([&] { refuse_no_text(part, 0); });
}

TEST(FileKind, ForeignFilesAreRefusedByWhatTheyAre) {
  const std::vector<std::pair<std::string, const char*>> all{
      {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"s, "gzip"},
      {"\x28\xb5\x2f\xfd"s, "zstd"},
      {"\xfd\x37zXZ\0"s, "xz"},
      {"BZh91AY&SY"s, "bzip2"},
      {"PK\x03\x04"s, "zip"},
      {"name.txt"s + std::string(249, '\0') + "ustar", "tar"},
      {"PAR1"s, "parquet"},
      {"ARROW1\0\0"s, "Arrow"},
      {"Obj\x01"s, "Avro"},
      {"%PDF-1.7\n"s, "PDF"},
      {"7z\xbc\xaf\x27\x1c"s, "7z"},
      {"Rar!\x1a\x07"s, "rar"},
      {"\x89PNG\r\n\x1a\n"s, "picture"},
      {"\x7f"s + "ELF", "program"},
      {"GGUF"s, "model"},
      {"MMIDIDX\0\0"s, "index of Megatron-LM"}};
  for (const auto& [beginning, name] : all) {
    EXPECT_THAT(packed_refusal(beginning + std::string(600, 'x')), HasSubstr(name));
    EXPECT_EQ(packed_refusal("A text on " + beginning + " and the like"), "accepted") << name;
  }
  EXPECT_THAT(text_refusal("\xff\xfeh\0i\0"s), HasSubstr("UTF-16"));
  EXPECT_THAT(text_refusal("\xff\xfe\0\0h\0\0\0"s), HasSubstr("UTF-32"));
  EXPECT_THAT(text_refusal("a\0b"s), HasSubstr("zero byte at place 1"));
}

// However JSON of several lines is laid out it is refused; a document a line, and prose, are not.
TEST(FileKind, JsonThatHasNoDocumentALineIsRefused) {
  std::mt19937 drawn(5);
  const auto blank = [&](const char* letters) {
    std::string text;
    for (std::size_t i = drawn() % 4; i > 0; --i) text += letters[drawn() % std::strlen(letters)];
    return text;
  };
  for (int trial = 0; trial < 200; ++trial) {
    const std::string bom = trial % 5 == 0 ? "\xef\xbb\xbf" : "";
    const std::string in_list = bom + blank(" \n\t\r") + "[" + blank(" \n\r\t") + "{" +
                                blank(" \n\t") + "\"text\": \"hello\"}, {";
    EXPECT_THAT(packed_refusal(in_list), HasSubstr("is JSON")) << in_list;
    const std::string over_lines =
        bom + blank(" \n") + "{" + blank(" \t\r") + "\n" + blank(" \n\t") + "\"text\": 1";
    EXPECT_THAT(packed_refusal(over_lines), HasSubstr("is JSON")) << over_lines;
    const std::string a_line = bom + blank(" \n") + "{" + blank(" \t") + "\"text\": \"a\"}\n";
    EXPECT_EQ(packed_refusal(a_line), "accepted") << a_line;
  }
  for (const char* prose :
       {"[1] A note", "{ curly }\n\"quoted\"", "[\"a\"]", "", "[", "{\n", "{\nx"}) {
    EXPECT_EQ(packed_refusal(prose), "accepted") << prose;
  }
}

TEST(FileKind, HeadsOfNumpySayWhatTheySay) {
  const auto head = [](const std::string& type, bool in_columns, const std::string& shape) {
    std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type,
                                   in_columns ? "True" : "False", shape);
    text.resize(118, ' ');
    return "\x93NUMPY\x01\0"s + static_cast<char>(text.size()) + '\0' + text;
  };
  const std::vector<std::pair<std::string, std::int64_t>> types{{"<u2", 2}, {"<i4", 4}, {"<u4", 4},
                                                                {"<i8", 8}, {"<u8", 8}, {"<f4", 0},
                                                                {">i4", 0}, {"|u1", 0}};
  const std::vector<std::pair<std::string, std::int64_t>> shapes{
      {"(12,)", 12}, {"(3, 4)", 12}, {"()", 1}, {"(2, 3, 5)", 30}, {"(0,)", 0}};
  for (const auto& [type, bytes] : types) {
    for (const auto& [shape, count] : shapes) {
      for (const bool in_columns : {false, true}) {
        const std::string beginning = head(type, in_columns, shape);
        const bool mixed = in_columns && shape.find(", ") != std::string::npos;
        const std::string said = refusal<std::runtime_error>([&] { numbers_in_npy(beginning); });
        if (bytes == 0 || mixed) {
          EXPECT_THAT(said, HasSubstr(bytes == 0 ? "no whole numbers" : "Fortran's order"));
          continue;
        }
        const auto numbers = numbers_in_npy(beginning);
        ASSERT_TRUE(numbers.has_value()) << type << shape;
        EXPECT_EQ(numbers->bytes, bytes);
        EXPECT_EQ(numbers->count, count) << shape;
        EXPECT_EQ(numbers->first_byte, std::ssize(beginning));
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
