// Files are replaced whole; a device is written into, never replaced; what fails leaves the old
// file. Standard streams that are closed, full or no longer read, each in a process of its own.
#include "support/whole_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/standard_streams.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

std::string refused(const std::function<void()>& call) {
  return refusal<std::runtime_error>(call);
}

// A file of the temporary folder that goes when the test does, and whatever lies beside it.
class WholeFile : public testing::Test {
 protected:
  auto entries() const {
    const auto all = std::filesystem::directory_iterator(folder_.path());
    return std::distance(begin(all), end(all));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("file");
};

// No name that somebody can guess is in the way of a draft.
TEST_F(WholeFile, ReplacesTheOldOneAndLeavesNothingBeside) {
  std::filesystem::create_directories(path_ + ".new");
  refuse_unwritable(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  const std::string zero("zero \0 inside", 13);
  for (const std::string& text : {std::string("a longer first text"), zero}) {
    write_whole_file(path_, text);
    refuse_unwritable(path_);

    EXPECT_EQ(read_whole_file(path_), text);
    EXPECT_EQ(entries(), 2);
  }
}

TEST_F(WholeFile, RefusesAFolderThatIsNotThereOrStandsInItsPlace) {
  const std::string none = "/no/such/folder/trace.json";
  for (const auto& [path, why] :
       {std::pair{none, "No such file or directory"}, {folder_.path(), "Is a directory"}}) {
    const std::string sentence = "cannot write " + path + ": " + why;
    EXPECT_EQ(refused([&] { write_whole_file(path, "{}"); }), sentence);
    EXPECT_EQ(refused([&] { refuse_unwritable(path); }), sentence);
  }
}

TEST_F(WholeFile, WritesIntoADeviceAndNeverReplacesIt) {
  std::filesystem::create_symlink("/dev/null", path_);
  for (const std::string& path : {path_, std::string("/dev/null")}) {
    EXPECT_EQ(refused([&] { write_whole_file(path, "{}"); }), "accepted");
    refuse_unwritable(path);
    EXPECT_TRUE(std::filesystem::is_character_file(path));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(refused([] { write_whole_file("/dev/full", "{}"); }),
            "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(WholeFile, ReadsNothingThatIsNoPlainFile) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);

  EXPECT_EQ(refused([&] { read_whole_file(path_, "the list"); }),
            "cannot read the list " + path_ + ": it is no plain file");
  EXPECT_EQ(refused([] { read_whole_file("/dev/zero"); }),
            "cannot read /dev/zero: it is no plain file");
  EXPECT_EQ(refused([] { read_whole_file("/tmp"); }),
            "cannot read /tmp: it is a folder; give the path of a file");
  EXPECT_EQ(refused([] { read_whole_file("/no/such/file"); }),
            "cannot read /no/such/file: No such file or directory");
}

TEST_F(WholeFile, RefusesAFileBeyondAllUse) {
  std::ofstream(path_).close();
  std::filesystem::resize_file(path_, most_input_bytes + 1);

  EXPECT_EQ(refused([&] { read_whole_file(path_); }),
            "cannot read " + path_ + ": it has 268435457 bytes, and at most 268435456 are read");
}

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
  const TemporaryFolder folder;
  const std::string path = folder.file("heard");
  const int status = status_of([&] {
    hold_standard_streams();
    dup2(file, STDOUT_FILENO);
    const std::string why = refused([&] { print(text); });
    const int heard = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    return write(heard, why.data(), why.size()) == std::ssize(why) ? sound : 1;
  });
  EXPECT_EQ(status, sound);
  return read_whole_file(path);
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
  const TemporaryFolder folder;
  const std::string path = folder.file("printed");
  const std::string text = std::string(1 << 17, 'a') + std::string("\0b\n", 3);
  const std::string shown = std::string(1 << 17, 'a') + "\\x00b\n";
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  EXPECT_EQ(heard_printing(file, text), "accepted");
  close(file);
  EXPECT_TRUE(read_whole_file(path) == shown);
}

// A limit stands for a disk that is full. The old file, or none, stays, and no draft.
TEST_F(WholeFile, ThatDoesNotFitLeavesTheOldOneAlone) {
  for (bool existed : {true, false}) {
    std::filesystem::remove(path_);
    if (existed) write_whole_file(path_, "old");
    const int status = status_of([&] {
      hold_standard_streams();
      const rlimit limit{1000, 1000};
      setrlimit(RLIMIT_FSIZE, &limit);
      for (int bytes : {1001, 100'000}) {
        const std::string why = refused(
            [&] { write_whole_file(path_, std::string(static_cast<std::size_t>(bytes), 'a')); });
        if (why != "cannot write " + path_ + ": File too large") return 1;
      }
      return sound;
    });

    EXPECT_EQ(status, sound);
    EXPECT_EQ(std::filesystem::exists(path_), existed);
    EXPECT_EQ(entries(), existed ? 1 : 0);
    if (!existed) continue;
    EXPECT_EQ(read_whole_file(path_), "old");
  }
}

}  // namespace
}  // namespace fourfold::tests
