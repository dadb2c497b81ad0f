// Files are replaced whole; a device is written into, never replaced; what fails leaves the old
// file.
#include "support/whole_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

std::string refusal(const std::function<void()>& write) {
  return tests::refusal<std::runtime_error>(write);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(WholeFile, ReplacesTheOldOneAndLeavesNothingBeside) {
  const std::string path = testing::TempDir() + "fourfold_whole_file";
  write_whole_file(path, "a longer first text");

  refuse_unwritable(path);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  EXPECT_EQ(content_of(path), "a longer first text");
  write_whole_file(path, "second");

  EXPECT_EQ(content_of(path), "second");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  std::filesystem::remove(path);
}

TEST(WholeFile, RefusesAFolderThatIsNotThere) {
  const std::string sentence = "cannot write /no/such/folder/trace.json: No such file or directory";
  EXPECT_EQ(refusal([] { write_whole_file("/no/such/folder/trace.json", "{}"); }), sentence);
  EXPECT_EQ(refusal([] { refuse_unwritable("/no/such/folder/trace.json"); }), sentence);
}

TEST(WholeFile, RefusesAFolderInThePlaceOfAFile) {
  EXPECT_EQ(refusal([] { write_whole_file("/tmp", "{}"); }), "cannot write /tmp: Is a directory");
  EXPECT_EQ(refusal([] { refuse_unwritable("/tmp"); }), "cannot write /tmp: Is a directory");
}

TEST(WholeFile, WritesIntoADeviceAndNeverReplacesIt) {
  EXPECT_EQ(refusal([] { write_whole_file("/dev/null", "{}"); }), "accepted");
  EXPECT_EQ(refusal([] { write_whole_file("/dev/full", "{}"); }),
            "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(WholeFile, ReadsWhatItWrote) {
  const std::string path = testing::TempDir() + "fourfold_whole_file";
  const std::string text("zero \0 inside", 13);
  write_whole_file(path, text);

  EXPECT_EQ(read_whole_file(path), text);
  std::filesystem::remove(path);
}

TEST(WholeFile, ReadsNothingThatIsNoPlainFile) {
  const std::string pipe = testing::TempDir() + "fourfold_pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);

  EXPECT_EQ(refusal([&] { read_whole_file(pipe, "the list"); }),
            "cannot read the list " + pipe + ": it is no plain file");
  EXPECT_EQ(refusal([] { read_whole_file("/dev/zero"); }),
            "cannot read /dev/zero: it is no plain file");
  EXPECT_EQ(refusal([] { read_whole_file("/tmp"); }),
            "cannot read /tmp: it is a folder; give the path of a file");
  EXPECT_EQ(refusal([] { read_whole_file("/no/such/file"); }),
            "cannot read /no/such/file: No such file or directory");
  std::filesystem::remove(pipe);
}

TEST(WholeFile, RefusesAFileBeyondAllUse) {
  const std::string path = testing::TempDir() + "fourfold_huge";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, most_input_bytes + 1);

  EXPECT_EQ(refusal([&] { read_whole_file(path); }),
            "cannot read " + path + ": it has 268435457 bytes, and at most 268435456 are read");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace fourfold::tests
