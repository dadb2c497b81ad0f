// Files of our own folders: whatever stands in their place, nothing outside is written; and names
// that become files, which are made plain.
#include "support/own_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "support/plain_name.hpp"
#include "support/random.hpp"
#include "support/whole_file.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;
using testing::HasSubstr;

// A folder of ours beside one whose files must stay as they are.
class OwnFiles : public testing::Test {
 protected:
  OwnFiles() {
    files::create_directories(root_ / "ours");
    files::create_directories(root_ / "theirs");
    std::ofstream(root_ / "theirs/precious") << "kept";
  }

  std::string ours(const std::string& name) const { return (root_ / "ours" / name).string(); }
  void expect_theirs_kept() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : files::directory_iterator(root_ / "theirs")) {
      found[entry.path().filename().string()] = content_of(entry.path().string());
    }
    EXPECT_EQ(found, (std::map<std::string, std::string>{{"precious", "kept"}}));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : files::directory_iterator(root_ / "ours")) {
      all.push_back(entry.path().filename().string());
    }
    return all;
  }

  TemporaryFolder folder_;
  const files::path root_ = files::path(folder_.file("x")).parent_path();
};

TEST_F(OwnFiles, ALinkInTheirPlaceIsReplacedAndNotFollowed) {
  for (const char* target :
       {"../theirs/precious", "../theirs/new", "/dev/full", "nowhere/at/all"}) {
    files::create_symlink(target, ours("table.txt"));

    write_own_file(ours("table.txt"), "a table");

    EXPECT_TRUE(files::is_regular_file(files::symlink_status(ours("table.txt")))) << target;
    EXPECT_EQ(content_of(ours("table.txt")), "a table") << target;
    EXPECT_EQ(names(), std::vector<std::string>{"table.txt"}) << target;
    files::remove(ours("table.txt"));
  }
  expect_theirs_kept();
}

TEST_F(OwnFiles, WithLinksInTheirPlaceAreNotAppendedTo) {
  for (const char* target :
       {"../theirs/precious", "../theirs/new", "/dev/full", "nowhere/at/all"}) {
    files::create_symlink(target, ours("log.jsonl"));

    EXPECT_THAT(refusal<std::runtime_error>([&] { append_own_line(ours("log.jsonl"), "{}"); }),
                HasSubstr("log.jsonl: it is a link, which might lead out of its folder; remove it"))
        << target;
    files::remove(ours("log.jsonl"));
  }
  ASSERT_EQ(mkfifo(ours("log.jsonl").c_str(), 0644), 0);
  EXPECT_THAT(refusal<std::runtime_error>([&] { append_own_line(ours("log.jsonl"), "{}"); }),
              HasSubstr("log.jsonl: it is no plain file; remove it"));
  expect_theirs_kept();
}

TEST_F(OwnFiles, AreAppendedToLineByLine) {
  append_own_line(ours("log.jsonl"), "one");
  append_own_line(ours("log.jsonl"), "two");

  EXPECT_EQ(content_of(ours("log.jsonl")), "one\ntwo\n");
}

// As the names ".new" and ".tmp" were once.
TEST_F(OwnFiles, DraftsHaveNamesThatNobodyForeseesAndThatBearOurMark) {
  const Draft first(ours("table.txt")), second(ours("table.txt"));

  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(is_draft(files::path(first.path()).filename().string()));
  for (const char* other :
       {"table.txt", "table.txt.new", ".fourfold-draft", "t.0123456789abcdeg.fourfold-draft",
        "t0123456789abcdef.fourfold-draft", ".0123456789abcdef.fourfold-draft",
        "t.0123456789abcdef.fourfold-drafts"}) {
    EXPECT_FALSE(is_draft(other)) << other;
  }
}

TEST_F(OwnFiles, DraftsThatAreNotKeptLeaveEverythingAsItWas) {
  std::ofstream(ours("table.txt")) << "before";
  { Draft(ours("table.txt")).write("half"); }
  EXPECT_THAT(refusal<std::runtime_error>([&] { write_own_file(ours("no/such/folder"), "text"); }),
              HasSubstr("No such file or directory"));

  EXPECT_EQ(content_of(ours("table.txt")), "before");
  EXPECT_EQ(names(), std::vector<std::string>{"table.txt"});
}

// A link that the user names is the user's word.
TEST_F(OwnFiles, WhatTheUserNamesIsWrittenWhereTheLinkLeads) {
  files::create_symlink("../theirs/precious", ours("answer.json"));

  refuse_unwritable(ours("answer.json"));
  expect_theirs_kept();
  write_whole_file(ours("answer.json"), "{}");

  EXPECT_TRUE(files::is_symlink(ours("answer.json")));
  EXPECT_EQ(content_of(root_ / "theirs/precious"), "{}");
}

// Standard output that is a plain file keeps what it has: the name is a link in /dev.
TEST_F(OwnFiles, StandardOutputIsAddedTo) {
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  const int file = open(ours("out").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, "said, ", 6), 6);
  dup2(file, STDOUT_FILENO);

  const std::string said =
      refusal<std::runtime_error>([] { write_whole_file("/dev/stdout", "written"); });
  dup2(before, STDOUT_FILENO);
  close(before);
  close(file);

  EXPECT_EQ(said, "accepted");
  EXPECT_EQ(content_of(ours("out")), "said, written");
  EXPECT_TRUE(files::is_symlink("/dev/stdout"));
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
