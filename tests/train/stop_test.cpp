// Requests to stop: they leave a note, and never touch the stack of what they interrupt.
#include "engine/train/run/stop.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

namespace fourfold::tests {
namespace {

// Wait status of a child process in which `body` runs: signals and notes stay out of the other
// tests. What `body` returns is the child's exit status.
template <typename Body>
int status_of_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(body());
    } catch (...) {
      _exit(EXIT_FAILURE);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Stop, the_first_signal_leaves_a_note) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const int status = status_of_child([signal] {
      watch_for_stop();
      if (stop_asked()) return EXIT_FAILURE;
      raise(signal);
      return stop_asked() ? EXIT_SUCCESS : EXIT_FAILURE;
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
  }
}

TEST(Stop, the_second_signal_ends_the_process) {
  const int status = status_of_child([] {
    watch_for_stop();
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTERM}) raise(signal);  // one event
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    for (int signal : {SIGHUP, SIGUSR1, SIGTERM}) raise(signal);
    return EXIT_SUCCESS;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
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
  const int status = status_of_child([] {
    watch_for_stop();
    constexpr std::byte untouched{0x5a};
    std::vector<std::byte> memory(1 << 18, untouched);
    signal_on_stack(memory.data() + memory.size() / 64 * 64 - 64, SIGTERM);
    const bool intact = std::count(memory.begin(), memory.end(), untouched) ==
                        static_cast<std::ptrdiff_t>(memory.size());
    return stop_asked() && intact ? EXIT_SUCCESS : EXIT_FAILURE;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EXIT_SUCCESS);
}
#endif

}  // namespace
}  // namespace fourfold::tests
