// DoTask shared out among forks: all of it is done, a worker's death is one task's, and places that
// nobody needs go to those who start processes.
#include "scaling/jobs/workers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "scaling/jobs/launch.hpp"
#include "scaling/jobs/slots.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// What became of tasks 0 to count - 1.
struct Heard {
  std::map<std::size_t, std::string> told, why;
  std::set<std::size_t> died;
  std::size_t most_at_once = 0;
};

// `ended` is called where the tasks are shared out, after the place of one was given back.
Heard shared_out(
    std::size_t count, std::size_t workers, const DoTask& work,
    const std::function<void()>& ended = [] {}) {
  Heard heard;
  std::size_t next = 0, at_work = 0;
  Ears ears;
  ears.next = [&]() -> std::optional<std::size_t> {
    if (next == count) return std::nullopt;
    heard.most_at_once = std::max(heard.most_at_once, ++at_work);
    return next++;
  };
  ears.hear = [&](std::size_t task, const std::string& line) { heard.told[task] += line; };
  ears.end = [&](std::size_t task, const std::string& why, bool died) {
    --at_work;
    heard.why[task] = why;
    if (died) heard.died.insert(task);
    ended();
  };
  share_out(workers, work, ears);
  return heard;
}

// Lines of any length are told whole, and why a task failed.
TEST(Workers, DoAllTasksAsManyAtATimeAsAllowed) {
  const std::string line(3'000'000, 'x');
  const Heard heard = shared_out(7, 3, [&](std::size_t task, const Tell& tell) {
    if (task == 6) throw std::runtime_error("no grid\nfits");
    tell(line);
    tell(std::to_string(task));
  });

  ASSERT_EQ(heard.why.size(), 7u);
  EXPECT_EQ(heard.told.at(4), line + "4");
  EXPECT_EQ(heard.why.at(4), "");
  EXPECT_EQ(heard.why.at(6), "no grid fits");
  EXPECT_TRUE(heard.died.empty());
  EXPECT_EQ(heard.most_at_once, 3u);
}

TEST(Workers, DieOfTheirOwnTaskAlone) {
  const Heard heard = shared_out(5, 2, [](std::size_t task, const Tell&) {
    if (task == 1) ::kill(getpid(), SIGKILL);
    if (task == 3) _exit(7);
  });

  EXPECT_EQ(heard.died, (std::set<std::size_t>{1, 3}));
  EXPECT_THAT(heard.why.at(1), HasSubstr("killed by signal 9"));
  EXPECT_THAT(heard.why.at(3), HasSubstr("ended too early"));
  EXPECT_EQ(heard.why.at(4), "");
}

// How many of six processes were there at once at most, by the lines that each writes to `log`.
std::size_t most_at_once(const std::string& log) {
  const std::string script = "echo + >>" + log + "; sleep 0.3; echo - >>" + log;
  run_side_by_side(std::vector<Job>(6, Job{{"sh", "-c", script}, "", 0}));
  std::size_t now = 0, most = 0;
  for (const char sign : content_of(log)) {
    if (sign == '+') most = std::max(most, ++now);
    if (sign == '-') --now;
  }
  return most;
}

void wait_for(const std::string& file) {
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(20ms);
}

TEST(Workers, LeaveTheirPlaceToProcessesOfTheOthersWhenTheyHaveNothingToDo) {
  const TemporaryFolder folder;
  const std::string began = folder.file("began"), over = folder.file("over"),
                    ended = folder.file("ended");

  const Heard both = shared_out(2, 2, [&](std::size_t task, const Tell& tell) {
    if (task == 1) {
      write_content(began, "");
      return wait_for(over);
    }
    wait_for(began);
    tell(std::to_string(most_at_once(folder.file("both"))));
    write_content(over, "");
  });
  const Heard alone = shared_out(
      2, 2,
      [&](std::size_t task, const Tell& tell) {
        if (task == 1) return;
        wait_for(ended);
        tell(std::to_string(most_at_once(folder.file("alone"))));
      },
      [&] { write_content(ended, ""); });

  EXPECT_EQ(both.told.at(0), "1");
  EXPECT_EQ(alone.told.at(0), "2");
}

}  // namespace
}  // namespace fourfold::tests
