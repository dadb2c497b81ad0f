// Programs that are started: none outlives us, signals to stop are held back where they must be,
// and what starts nothing is given up.
#include "scaling/jobs/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "scaling/jobs/attached.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/jobs/silent_ranks.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

template <typename Check>
bool soon(const Check& check) {
  for (int i = 0; i < 500; ++i) {
    if (check()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

pid_t written_id(const std::string& file) {
  std::ifstream text(file);
  pid_t id = 0;
  text >> id;
  return id;
}

// Not there, or dead and not waited for.
bool is_gone(pid_t id) {
  std::ifstream about("/proc/" + std::to_string(id) + "/stat");
  std::string number, name, state;
  about >> number >> name >> state;
  return !about || state == "Z";
}

// In a process of its own, as signals and limits are.
template <typename Work>
int status_of(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Process, EndsWithWhoeverStartedItWhateverEndsThat) {
  const TemporaryFolder folder;
  const std::string file = folder.file("id");

  status_of([&] {
    Process process(
        {{"sh", "-c", "trap '' TERM INT HUP; echo $$ >" + file + "; sleep 60 >/dev/null 2>&1"}});
    soon([&] { return written_id(file) > 0; });
    kill(getpid(), SIGKILL);
  });

  ASSERT_GT(written_id(file), 0);
  EXPECT_TRUE(soon([&] { return is_gone(written_id(file)); }));
}

TEST(Process, IsEndedWithItsObjectEvenIfItHeedsNoSignal) {
  const TemporaryFolder folder;
  const std::string file = folder.file("id");
  const auto began = Clock::now();
  {
    const Process process(
        {{"sh", "-c", "trap '' TERM; echo $$ >" + file + "; sleep 60 >/dev/null 2>&1 & wait"}});
    soon([&] { return written_id(file) > 0; });
  }
  EXPECT_TRUE(is_gone(written_id(file)));
  EXPECT_LT(Clock::now() - began, 10s);
}

TEST(Process, SaysWhatItsDeathProbablyMeans) {
  EXPECT_EQ(death_text(SIGKILL),
            "was killed by signal 9 (Killed), perhaps by the system for lack of memory");
  EXPECT_THAT(death_text(SIGBUS), HasSubstr("/dev/shm"));
  EXPECT_EQ(death_text(SIGSEGV), "was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(ending_text(run_side_by_side({{{"sh", "-c", "kill -9 $$"}, ""}})[0]),
            death_text(SIGKILL));
  EXPECT_EQ(ending_text(run_side_by_side({{{"sh", "-c", "exit 137"}, ""}})[0]),
            "ended with status 137");
}

// In a process with that limit: what was done, or 2 where this was said.
int limited(int resource, const rlimit& limit, const std::string& sentence,
            const std::function<int()>& work) {
  return status_of([&] {
    setrlimit(resource, &limit);
    try {
      _exit(work());
    } catch (const std::runtime_error& error) {
      _exit(error.what() == sentence ? 2 : 3);
    }
  });
}

TEST(OpenFiles, AreAllowedAsFarAsTheHardLimitGoes) {
  const auto allowed = [](rlim_t soft, rlim_t hard) {
    return limited(RLIMIT_NOFILE, {soft, hard},
                   "this test may have to open 100 files, but the limit of open files is 30; "
                   "raise it (ulimit -n 100)",
                   [] {
                     allow_open_files(100, "this test");
                     rlimit now{};
                     getrlimit(RLIMIT_NOFILE, &now);
                     return static_cast<int>(now.rlim_cur);
                   });
  };
  EXPECT_EQ(allowed(30, 200), 100);
  EXPECT_EQ(allowed(150, 200), 150);
  EXPECT_EQ(allowed(30, 30), 2);
}

TEST(Addresses, AreAskedForBeforeTheyAreMissed) {
  const auto within = [](rlim_t limit) {
    return limited(RLIMIT_AS, {limit, RLIM_INFINITY},
                   "this test and its libraries take up to 700000 kB of addresses, but the limit "
                   "is 600000 kB; raise it (ulimit -v 700000)",
                   [] {
                     expect_addresses(716'800'000, "this test");
                     return 0;
                   });
  };
  EXPECT_EQ(within(614'400'000), 2);
  EXPECT_EQ(within(716'800'000), 0);
  EXPECT_EQ(within(RLIM_INFINITY), 0);
}

// Its end is waited for, not looked for every 0.1 s: the quickest of several is about as long as
// the command.
TEST(Attached, EndsWithTheCommand) {
  std::chrono::duration<double> quickest{1.0};
  for (int i = 0; i < 8; ++i) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(run_attached({"sleep", "0.02"}).status, 0);
    quickest =
        std::min<std::chrono::duration<double>>(quickest, std::chrono::steady_clock::now() - began);
  }
  EXPECT_LT(quickest.count(), 0.08);
}

TEST(Attached, GivesUpWhatStartsNothing) {
  const TemporaryFolder folder;
  const std::string file = folder.file("id");
  try {
    run_attached(
        {"sh", "-c", "trap '' TERM; echo $$ >" + file + "; sleep 60 >/dev/null 2>&1 & wait"}, {},
        {[] { return false; }, 500ms});
    FAIL() << "it was waited for";
  } catch (const NothingStarted& nothing) {
    EXPECT_THAT(nothing.what(), StartsWith("has started nothing within 0.5 s; "));
  }
  EXPECT_TRUE(is_gone(written_id(file)));
}

TEST(Attached, TakesASignalToALauncherAsOneToUs) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string script =
        "import os, signal, time\n"
        "signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))\n"
        "os.kill(os.getpid(), " +
        std::to_string(signal) + ")\ntime.sleep(60)";

    const AttachedResult result =
        run_attached({"python3", "-c", script}, {}, {[] { return true; }});

    EXPECT_TRUE(result.interrupted) << signal;
    EXPECT_EQ(result.status, 3) << signal;
  }
}

// One event is one interrupt, however many signals it sends; a second ends what does not end.
TEST(Attached, IsEndedByASecondInterrupt) {
  const TemporaryFolder folder;
  const std::string file = folder.file("id");
  const int status = status_of([&] {
    watch_for_interrupts();
    const std::string asks = "kill -TERM $PPID; kill -HUP $PPID; kill -INT $PPID; sleep 1; ";
    const AttachedResult result =
        run_attached({"sh", "-c",
                      "trap '' USR1 TERM; echo $$ >" + file + "; " + asks +
                          "kill -INT $PPID; sleep 60 >/dev/null 2>&1"});
    _exit(result.interrupted && result.signal == SIGKILL && interrupts_so_far() == 2 ? 7 : 1);
  });
  EXPECT_EQ(status, 7);
  EXPECT_TRUE(is_gone(written_id(file)));
}

// The second of them at once, and the only one after a while where work does not look at it.
TEST(Interrupts, EndWhateverIsBeingDone) {
  EXPECT_EQ(status_of([] {
              watch_for_interrupts();
              std::raise(SIGINT);
              std::raise(SIGTERM);
              std::this_thread::sleep_for(300ms);
              std::raise(SIGINT);
            }),
            130);
  const auto began = Clock::now();
  EXPECT_EQ(status_of([] {
              watch_for_interrupts();
              std::raise(SIGTERM);
              while (true) {
              }
            }),
            130);
  EXPECT_LT(Clock::now() - began, 10s);
}

// What is asked while it launches reaches who does not listen yet.
TEST(Attached, TellsWhatIsLaunchedAfterARequestOfIt) {
  const TemporaryFolder folder;
  const std::string ready = folder.file("ready"), begun = folder.file("begun");
  const int status = status_of([&] {
    watch_for_interrupts();
    const std::string script =
        "import os, signal, time\n"
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN); open('" +
        ready +
        "', 'w'); time.sleep(0.5)\n"
        "signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))\n"
        "open('" +
        begun + "', 'w'); time.sleep(30)";
    bool raised = false;
    const auto has_started = [&] {
      if (!raised && std::filesystem::exists(ready)) {
        raised = true;
        std::raise(SIGINT);
      }
      return std::filesystem::exists(begun);
    };
    _exit(run_attached({"python3", "-c", script}, {}, {has_started, 60s}).status);
  });
  EXPECT_EQ(status, 3);
}

TEST(Interrupts, AreNoHangUpThatIsIgnored) {
  const auto counted = [](auto handler) {
    return status_of([&] {
      std::signal(SIGHUP, handler);
      watch_for_interrupts();
      std::raise(SIGHUP);
      _exit(interrupts_so_far());
    });
  };
  EXPECT_EQ(counted(SIG_DFL), 1);
  EXPECT_EQ(counted(SIG_IGN), 0);
}

// What stands in the place of a run's signs of life and is none is never waited for.
TEST(SilentRanks, WaitForNoPipeLinkOrFolderInTheirFilesPlace) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe"), link = folder.file("link"),
                    place = folder.file("folder");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", link);
  std::filesystem::create_directory(place);
  for (const std::string& file : {pipe, link, place, folder.file("absent")}) {
    SilentRanks ranks(nlohmann::json{{"file", file},
                                     {"ranks", 2},
                                     {"name_after", 1.0},
                                     {"end_after", 2.0},
                                     {"end_when_asked_after", 2.0}});
    EXPECT_EQ(ranks.look(9.0, false).sentence, "") << file;
  }
}

}  // namespace
}  // namespace fourfold::tests
