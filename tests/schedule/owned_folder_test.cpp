// Folders that one process at a time writes to, new ones that nobody else has made, and those that
// are removed whole: ours alone.
#include "support/owned_folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "support/scratch_folder.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

namespace files = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class OwnedFolders : public testing::Test {
 protected:
  std::string said(const std::string& part = "") const {
    return refusal<std::runtime_error>([&] { const OwnedFolder folder(root_, part); });
  }
  // A child that owns the folder for good, and says when it does; killed by the caller.
  pid_t owner() const {
    int pipes[2];
    if (pipe(pipes) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
      const OwnedFolder folder(root_);
      if (write(pipes[1], "x", 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    char letter = 0;
    EXPECT_EQ(read(pipes[0], &letter, 1), 1);
    close(pipes[0]);
    close(pipes[1]);
    return child;
  }
  bool is_empty() const { return files::is_empty(root_); }

  TemporaryFolder folder_;
  const std::string root_ = files::path(folder_.file("x")).parent_path();
};

TEST_F(OwnedFolders, AreGivenBack) {
  for (const std::string part : {"", "records.jsonl", ""}) {
    { const OwnedFolder folder(root_, part); }
    EXPECT_TRUE(is_empty());
    EXPECT_EQ(OwnedFolder(root_, part).remark(), "");
  }
}

TEST_F(OwnedFolders, RefuseASecondWithHostAndProcessOfTheFirst) {
  const OwnedFolder first(root_);
  char host[256] = "";
  gethostname(host, sizeof host);

  EXPECT_THAT(said(), testing::AllOf(StartsWith(root_ + " is in use by process " +
                                                std::to_string(getpid()) + " on " + host),
                                     HasSubstr("; wait for it to end, or choose another folder")));
  EXPECT_EQ(said("records.jsonl"), "accepted");
}

TEST_F(OwnedFolders, HavePartsThatAreOwnedEachByItself) {
  const OwnedFolder first(root_, "records.jsonl"), second(root_, "records.slice-1-of-2.jsonl");

  EXPECT_THAT(said("records.jsonl"), StartsWith(root_ + "/records.jsonl is in use by process "));
}

TEST_F(OwnedFolders, OfAProcessThatLivesAreItsAndOfOneThatWasKilledAreTakenOver) {
  const pid_t child = owner();
  ASSERT_GT(child, 0);
  const std::string process = " in use by process " + std::to_string(child) + " on ";

  EXPECT_THAT(said(), HasSubstr(" is" + process));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const OwnedFolder next(root_);

  EXPECT_THAT(next.remark(), testing::AllOf(HasSubstr(" was" + process),
                                            HasSubstr("which has ended; it is taken over")));
}

// A lock is held a moment before the name of its owner is written.
TEST_F(OwnedFolders, AreNamedByOwnersThatWriteTheirNameLate) {
  for (const bool takes : {true, false}) {
    const int file = open((root_ + "/.in-use").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    ASSERT_EQ(flock(file, LOCK_EX), 0);
    const std::string name = "process 7 on far-away started 5 since 2026-01-02T03:04:05Z\n";
    std::thread late([&] {
      usleep(200'000);
      EXPECT_EQ(write(file, name.data(), name.size()), std::ssize(name));
    });

    EXPECT_THAT(takes ? said() : refusal<std::runtime_error>([&] { refuse_in_use(root_); }),
                HasSubstr(" is in use by process 7 on far-away since "));
    late.join();
    close(file);
    files::remove(root_ + "/.in-use");
  }
}

// A number that the system gives again is another process by when it was started: field 22 of what
// it says of a process.
TEST_F(OwnedFolders, SayWhenTheirProcessWasStarted) {
  const OwnedFolder folder(root_);
  std::ifstream own("/proc/self/stat");
  if (!own) GTEST_SKIP() << "a system without /proc";
  std::string field, all;
  std::getline(own, all);
  std::istringstream behind_name(all.substr(all.rfind(')') + 1));  // fields from the third on
  for (int number = 3; number <= 22; ++number) behind_name >> field;
  ASSERT_NE(field, "0");

  std::ifstream lock(root_ + "/.in-use");
  std::string said;
  std::getline(lock, said);
  EXPECT_THAT(said, HasSubstr(" started " + field + " since "));
}

// Whether a process of another host has ended, nobody sees from here.
TEST_F(OwnedFolders, OfAnotherHostAreToldWithWhatToRemove) {
  std::ofstream(root_ + "/.in-use")
      << "process 7 on far-away started 5 since 2026-01-02T03:04:05Z\n";

  EXPECT_EQ(said(), root_ + " is in use by process 7 on far-away since 2026-01-02T03:04:05Z, as " +
                        "far as this host knows; if that has ended, remove " + root_ + "/.in-use");
  files::remove(root_ + "/.in-use");
  EXPECT_EQ(said(), "accepted");
}

TEST_F(OwnedFolders, WithWordsThatNobodyUnderstandsAreFree) {
  for (const char* words :
       {"", "process", "process -1 on host started 5 since 2026-01-02T03:04:05Z\n",
        "process 7 on ;rm started 5 since 2026-01-02T03:04:05Z\n", "process 7 on host\n"}) {
    std::ofstream(root_ + "/.in-use") << words;
    EXPECT_EQ(said(), "accepted") << words;
    EXPECT_TRUE(is_empty()) << words;
  }
}

TEST_F(OwnedFolders, AreNotOwnedThroughALink) {
  const files::path other = files::path(root_) / "other";
  std::ofstream(other) << "kept";
  files::create_symlink("other", root_ + "/.in-use");

  EXPECT_THAT(said(), HasSubstr(".in-use: it is a link"));
  std::ifstream file(other);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "kept");
}

TEST_F(OwnedFolders, NewOnesAreNumbered) {
  const std::string first = root_ + "/results/train/gpt";
  const NewFolder one(first), two(first), three(first);

  EXPECT_EQ(one.path(), first);
  EXPECT_EQ(two.path(), first + "-2");
  EXPECT_EQ(three.path(), first + "-3");
}

// Ten processes at once, several times.
TEST_F(OwnedFolders, NewOnesAreMadeByOneProcessEach) {
  constexpr int processes = 10, times = 20;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    for (int k = 0; k < times; ++k) {
      NewFolder folder(root_ + "/results/" + std::to_string(k));
      folder.release();
      const std::string line = folder.path() + "\n";
      if (write(pipes[1], line.data(), line.size()) != std::ssize(line)) _exit(1);
    }
    _exit(0);
  }
  close(pipes[1]);
  std::string all;
  std::array<char, 4096> buffer;
  for (ssize_t count; (count = read(pipes[0], buffer.data(), buffer.size())) > 0;) {
    all.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(pipes[0]);
  while (wait(nullptr) > 0) continue;

  std::set<std::string> folders;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) folders.insert(line);
  EXPECT_EQ(folders.size(), std::size_t{processes * times});
}

TEST_F(OwnedFolders, NewOnesThatStayEmptyGoWithTheFoldersMadeForThem) {
  { const NewFolder folder(root_ + "/results/train/gpt"); }
  EXPECT_TRUE(is_empty());
  files::create_directories(root_ + "/results");
  {
    const NewFolder folder(root_ + "/results/train/gpt");
    std::ofstream(folder.path() + "/log.jsonl") << "{}";
  }
  EXPECT_TRUE(files::exists(root_ + "/results/train/gpt/log.jsonl"));
  files::remove_all(root_ + "/results/train");
  NewFolder kept(root_ + "/results/train/gpt");

  EXPECT_EQ(kept.release(),
            (std::vector<std::string>{root_ + "/results/train", root_ + "/results/train/gpt"}));
}

TEST_F(OwnedFolders, NewOnesThatCannotBeMadeAreRefused) {
  std::ofstream(root_ + "/file") << "";

  EXPECT_EQ(refusal<std::runtime_error>([&] { const NewFolder folder(root_ + "/file/in/it"); }),
            "cannot make the folder " + root_ + "/file: Not a directory");
}

class ScratchFolders : public testing::Test {
 protected:
  std::string said() const {
    return refusal<std::runtime_error>([&] { make_scratch_folder(root_ / "small-1"); });
  }
  TemporaryFolder folder_;
  const files::path root_ = files::path(folder_.file("x")).parent_path();
};

TEST_F(ScratchFolders, AreMadeAnewAndGo) {
  const files::path folder = root_ / "results/small-1";
  for (int i = 0; i < 2; ++i) {
    make_scratch_folder(folder);
    EXPECT_FALSE(files::exists(folder / "data"));
    std::ofstream(folder / "data") << i;
  }

  remove_scratch_folder(folder);

  EXPECT_FALSE(files::exists(folder));
  remove_scratch_folder(folder);
}

TEST_F(ScratchFolders, OfOthersStay) {
  files::create_directories(root_ / "small-1");
  std::ofstream(root_ / "small-1/thesis") << "kept";

  remove_scratch_folder(root_ / "small-1");
  EXPECT_THAT(said(), testing::HasSubstr("small-1 is in the way: it was not made for this"));

  EXPECT_TRUE(files::exists(root_ / "small-1/thesis"));
}

TEST_F(ScratchFolders, AreNoneThroughALink) {
  make_scratch_folder(root_ / "elsewhere");
  files::create_directory_symlink("elsewhere", root_ / "small-1");

  remove_scratch_folder(root_ / "small-1");
  EXPECT_THAT(said(), testing::HasSubstr("is in the way"));

  EXPECT_TRUE(files::exists(root_ / "elsewhere"));
}

}  // namespace
}  // namespace fourfold::tests
