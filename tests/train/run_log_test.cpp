// What a run says and records: where its lines go on each screen, and what is said of a reader that
// left. And that requests to stop never touch the stack of what they interrupt.
#include "engine/train/run/run_log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include "engine/train/run/stop.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using RunLogs = InAFolder<OneRank>;

// What a child process that has `file` as its standard output makes of `work`: a sentence.
template <typename Work>
std::string sentence_of_child(int file, const Work& work) {
  int ends[2] = {};
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGPIPE, SIG_IGN);
    dup2(file, STDOUT_FILENO);
    const std::string sentence = refusal(work);
    const ssize_t written = write(ends[1], sentence.data(), sentence.size());
    _exit(written < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string sentence(4096, '\0');
  sentence.resize(static_cast<std::size_t>(
      std::max<ssize_t>(0, read(ends[0], sentence.data(), sentence.size()))));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return sentence;
}

// Said, recorded, and said again through a log that has been moved.
void use(const std::string& path, Screen screen) {
  RunLog log;
  log.open(path, screen);
  log.say("a line");
  log.record("{\"kind\":\"one\"}");
  const RunLog moved(std::move(log));
  moved.say("another");
  moved.record("{\"kind\":\"two\"}");
  moved.expect_all_said();
}

// What is said by a child in this work.
template <typename Work>
std::string said_by_child(const SharedFolder& folder, const Work& work) {
  const std::string said = folder.file("said");
  const int file = open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  EXPECT_EQ(sentence_of_child(file, work), "");
  close(file);
  return content_of(said);
}

TEST_F(RunLogs, OfPeopleAndOfJsonAreOnTheScreenThatIsAskedFor) {
  const std::string both = "{\"kind\":\"one\"}\n{\"kind\":\"two\"}\n";
  const std::vector<std::pair<Screen, std::string>> screens{
      {Screen::lines, "a line\nanother\n"}, {Screen::json, both}, {Screen::silent, ""}};
  std::string recorded;
  for (const auto& [screen, expected] : screens) {
    EXPECT_EQ(said_by_child(folder, [&] { use(folder.file("log"), screen); }), expected);
    recorded += both;  // what was recorded before stays
    EXPECT_EQ(content_of(folder.file("log")), recorded);
  }
  EXPECT_EQ(said_by_child(folder,
                          [] {
                            const RunLog nobody_opened;
                            nobody_opened.say("a line");
                            nobody_opened.record("{}");
                            nobody_opened.expect_all_said();
                          }),
            "");
}

TEST_F(RunLogs, SayOneLineWhateverItQuotes) {
  RunLog log;
  log.open(folder.file("log.jsonl"), Screen::lines);
  ::testing::internal::CaptureStdout();
  log.say("checkpoint a\nstep     3  \x1b[2Jloss\r");
  log.say_lines("two\nlines");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "checkpoint a\\nstep     3  \\x1b[2Jloss\\x0d\ntwo\nlines\n");
}

TEST_F(RunLogs, AReaderThatLeftIsNoError) {
  for (const Screen screen : {Screen::lines, Screen::json}) {
    int ends[2] = {};
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);

    EXPECT_EQ(sentence_of_child(ends[1], [&] { use(folder.file("log"), screen); }), "");

    close(ends[1]);
  }
}

TEST_F(RunLogs, ThatCannotBeWrittenAreRefusedByName) {
  const std::string nowhere = folder.file("nowhere") + "/log";
  RunLog log;

  EXPECT_EQ(refusal([&] { log.open(nowhere, Screen::silent); }),
            "cannot write the log " + nowhere + ": No such file or directory");
  RunLog full;
  full.open("/dev/full", Screen::silent);
  full.expect_whole();
  full.record("{}");
  full.record("{}");
  EXPECT_FALSE(full.is_whole());
  EXPECT_EQ(refusal([&] { full.expect_whole(); }),
            "cannot write the log /dev/full: No space left on device");
}

// The signal that the system has for this ends nobody.
TEST_F(RunLogs, AtTheLimitOfAFileAreOnlyCutThere) {
  const auto record_much = [&] {
    RunLog log;
    log.open(folder.file("log"), Screen::silent);
    const rlimit limit{64, 64};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 20; ++i) log.record("{\"kind\":\"step\"}");
    log.expect_whole();
  };

  EXPECT_EQ(sentence_of_child(STDOUT_FILENO, record_much),
            "cannot write the log " + folder.file("log") + ": File too large");
}

TEST_F(RunLogs, GoOnBehindALineThatAnEarlierRunLeftTorn) {
  for (const std::string& before : {std::string("{\"kind\":\"st"), std::string("{}\n")}) {
    const std::string path = folder.write("log" + std::to_string(before.size()), before);
    RunLog log;
    log.open(path, Screen::silent);
    log.record("{\"kind\":\"run\"}");

    EXPECT_EQ(content_of(path),
              before + (before.ends_with('\n') ? "" : "\n") + "{\"kind\":\"run\"}\n");
  }
}

#if defined(__x86_64__)
// Sends this process a signal while the stack pointer is `stack`, as it is during oneDNN's
// products.
void signal_on_stack(std::byte* stack, int signal) {
  long number = SYS_kill;
  asm volatile("xchg %%rsp, %[stack]\n\tsyscall\n\txchg %%rsp, %[stack]"
               : [stack] "+&b"(stack), "+a"(number)
               : "D"(static_cast<long>(getpid())), "S"(static_cast<long>(signal))
               : "rcx", "r11", "memory");
}

TEST(Stop, a_signal_writes_nothing_below_the_stack_pointer) {
  const pid_t child = fork();  // signals and notes stay out of the other tests
  if (child == 0) {
    watch_for_stop();
    constexpr std::byte untouched{0x5a};
    std::vector<std::byte> memory(1 << 18, untouched);
    signal_on_stack(memory.data() + memory.size() / 64 * 64 - 64, SIGTERM);
    const bool intact = std::count(memory.begin(), memory.end(), untouched) ==
                        static_cast<std::ptrdiff_t>(memory.size());
    _exit(stop_asked() && intact ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
}
#endif

}  // namespace
}  // namespace fourfold::tests
