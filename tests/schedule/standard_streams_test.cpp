// Standard streams that are closed, full or no longer read, each in a process of its own; and files
// that do not fit where they are written.
#include "support/standard_streams.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include "support/whole_file.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

// How a process ends that does this: its exit status, or 128 and the signal that killed it.
int status_of(const std::function<int()>& work) {
  std::fflush(stdout);  // or the child would write it, too
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr int sound = 7;

bool readable(int stream) {
  return (fcntl(stream, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

TEST(StandardStreams, ThatAreClosedAreOpenedForWhatTheyAreFor) {
  for (int closed = 0; closed < 8; ++closed) {
    const int status = status_of([&] {
      for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        const int other = open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
        dup2(other, stream);
        close(other);
        if ((closed >> stream & 1) != 0) close(stream);
      }
      if (hold_standard_streams() != ((closed >> STDOUT_FILENO & 1) == 0)) return 1;
      if (!readable(STDIN_FILENO)) return 2;
      for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        if ((fcntl(stream, F_GETFL) & O_ACCMODE) != O_WRONLY) return 3;
      }
      char letter = 0;
      if (read(STDIN_FILENO, &letter, 1) != 0) return 4;
      return open("/dev/null", O_RDONLY) > STDERR_FILENO ? sound : 5;
    });

    EXPECT_EQ(status, sound) << "closed: " << closed;
  }
}

// Standard output is this file; `print` hears what is wrong.
std::string heard_printing(int file, const std::string& text) {
  const std::string path = testing::TempDir() + "fourfold_heard_" + std::to_string(getpid());
  const int status = status_of([&] {
    hold_standard_streams();
    dup2(file, STDOUT_FILENO);
    const std::string why = refusal<std::runtime_error>([&] { print(text); });
    const int heard = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    return write(heard, why.data(), why.size()) == std::ssize(why) ? sound : 1;
  });
  EXPECT_EQ(status, sound);
  const std::string heard = read_whole_file(path);
  std::filesystem::remove(path);
  return heard;
}

TEST(StandardStreams, SayWhereTheyCannotBeWritten) {
  const int full = open("/dev/full", O_WRONLY);
  EXPECT_EQ(heard_printing(full, "text"),
            "cannot write to standard output: No space left on device");
  EXPECT_EQ(heard_printing(full, std::string(1 << 20, 'a')),
            "cannot write to standard output: No space left on device");
  close(full);
}

TEST(StandardStreams, ThatNobodyReadsAnyMoreAreNoError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(heard_printing(ends[1], "text"), "accepted");
  EXPECT_EQ(heard_printing(ends[1], std::string(1 << 20, 'a')), "accepted");
  close(ends[1]);
}

TEST(StandardStreams, CarryTheWholeText) {
  const std::string path = testing::TempDir() + "fourfold_printed";
  const std::string text = std::string(1 << 17, 'a') + std::string("\0b\n", 3);
  const std::string shown = std::string(1 << 17, 'a') + "\\x00b\n";
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  EXPECT_EQ(heard_printing(file, text), "accepted");
  close(file);
  EXPECT_TRUE(read_whole_file(path) == shown);
  std::filesystem::remove(path);
}

// A limit stands for a disk that is full. The old file, or none, stays, and no draft.
TEST(WholeFile, ThatDoesNotFitLeavesTheOldOneAlone) {
  const std::string path = testing::TempDir() + "fourfold_limited";
  for (bool existed : {true, false}) {
    std::filesystem::remove(path);
    if (existed) write_whole_file(path, "old");
    const int status = status_of([&] {
      hold_standard_streams();
      const rlimit limit{1000, 1000};
      setrlimit(RLIMIT_FSIZE, &limit);
      for (int bytes : {1001, 100'000}) {
        const std::string why = refusal<std::runtime_error>(
            [&] { write_whole_file(path, std::string(static_cast<std::size_t>(bytes), 'a')); });
        if (why != "cannot write " + path + ": File too large") return 1;
      }
      return sound;
    });

    EXPECT_EQ(status, sound);
    EXPECT_EQ(std::filesystem::exists(path), existed);
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
    if (!existed) continue;
    EXPECT_EQ(read_whole_file(path), "old");
  }
  std::filesystem::remove(path);
}

// No name that somebody can guess is in the way of a draft.
TEST(WholeFile, IsWrittenWhateverLiesBesideIt) {
  const std::string folder = testing::TempDir() + "fourfold_in_the_way";
  const std::string path = folder + "/file";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(path + ".new");

  EXPECT_EQ(refusal<std::runtime_error>([&] { refuse_unwritable(path); }), "accepted");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(refusal<std::runtime_error>([&] { write_whole_file(path, "text"); }), "accepted");
  EXPECT_EQ(read_whole_file(path), "text");
  EXPECT_TRUE(std::filesystem::is_directory(path + ".new"));
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);
  std::filesystem::remove_all(folder);
}

TEST(WholeFile, WritesThroughALinkToADevice) {
  const std::string path = testing::TempDir() + "fourfold_link";
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/null", path);

  write_whole_file(path, "text");
  refuse_unwritable(path);

  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace fourfold::tests
