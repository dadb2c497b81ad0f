// Signals, counted; see interrupt.hpp. The counts are mutable globals: a signal handler has nothing
// else to write to.
#include "scaling/jobs/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string_view>

#include "support/exit_status.hpp"

namespace fourfold::inline scaling::inline jobs {
namespace {

volatile std::sig_atomic_t interrupts = 0;
volatile std::sig_atomic_t patience = 0;
timespec latest{};  // when the last one that counted came; only the handler looks at it

constexpr double one_event = 0.2;  // seconds
constexpr unsigned seconds_to_end = 6;

double seconds_between(const timespec& before, const timespec& after) {
  return static_cast<double>(after.tv_sec - before.tv_sec) +
         1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
}

[[noreturn]] void end_now(std::string_view sentence) {
  [[maybe_unused]] const ssize_t said = write(STDERR_FILENO, sentence.data(), sentence.size());
  _exit(status_stopped);
}

void note_interrupt(int) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (interrupts > 0 && seconds_between(latest, now) < one_event) return;
  latest = now;
  interrupts = interrupts + 1;
  if (interrupts == 1) alarm(seconds_to_end);
  if (interrupts > 1 && patience == 0) end_now("fourfold: interrupted twice: ended at once\n");
}

void note_delay(int) {
  if (patience == 0) end_now("fourfold: interrupted\n");
  alarm(seconds_to_end);
}

}  // namespace

void watch_for_interrupts() {
  struct sigaction note {};
  note.sa_handler = note_interrupt;
  sigemptyset(&note.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&note.sa_mask, signal);
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &note, nullptr);
  note.sa_handler = note_delay;
  sigaction(SIGALRM, &note, nullptr);
  note.sa_handler = note_interrupt;
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &note, nullptr);
}

int interrupts_so_far() {
  return interrupts;
}

PatientlyInterrupted::PatientlyInterrupted() {
  patience = patience + 1;
}

PatientlyInterrupted::~PatientlyInterrupted() {
  patience = patience - 1;
}

void stop_if_interrupted() {
  if (interrupts != 0) throw Interrupted();
}

}  // namespace fourfold::inline scaling::inline jobs
