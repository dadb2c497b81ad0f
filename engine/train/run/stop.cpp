// Signals as a note; see stop.hpp. The note and the handler's stack are mutable globals: a signal
// handler has nothing else to write to.
#include "engine/train/run/stop.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <system_error>

namespace fourfold::inline engine::inline train::inline run {

namespace {

volatile std::sig_atomic_t stop_came = 0;
timespec came_at{};  // only the handler looks at it

constexpr double one_event = 0.5;  // seconds

void note_stop(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (stop_came == 0) {
    came_at = now;
    stop_came = 1;
    return;
  }
  const double since = static_cast<double>(now.tv_sec - came_at.tv_sec) +
                       1e-9 * static_cast<double>(now.tv_nsec - came_at.tv_nsec);
  if (since < one_event || signal == SIGHUP || signal == SIGUSR1) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// oneDNN's fp32 products (before 3.11.2; its issue 4845) point the stack pointer into the heap
// while they run. A handler on that stack would overwrite whatever lies below: the job would die of
// a corrupted heap instead of stopping.
void give_handlers_a_stack() {
  alignas(16) static std::array<std::byte, 1 << 16> memory;  // saved AVX-512 state takes some 3 KB
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  if (sigaltstack(&stack, nullptr) == 0) return;
  throw std::system_error(errno, std::generic_category(), "no stack for signals");
}

}  // namespace

void watch_for_stop() {
  give_handlers_a_stack();
  struct sigaction note {};
  note.sa_handler = note_stop;
  note.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&note.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&note.sa_mask, signal);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaction(signal, &note, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &note, nullptr);
}

bool stop_asked() {
  return stop_came != 0;
}

}  // namespace fourfold::inline engine::inline train::inline run
