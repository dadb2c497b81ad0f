// Signals, counted; see interrupt.hpp. The count is the one mutable global: a signal handler has
// nothing else to write to.
#include "scaling/jobs/interrupt.hpp"

#include <csignal>

namespace fourfold {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void note_interrupt(int) {
  interrupts = interrupts + 1;
}

}  // namespace

void watch_for_interrupts() {
  struct sigaction note {};
  note.sa_handler = note_interrupt;
  sigemptyset(&note.sa_mask);
  sigaction(SIGINT, &note, nullptr);
  sigaction(SIGTERM, &note, nullptr);
}

int interrupts_so_far() {
  return interrupts;
}

void stop_if_interrupted() {
  if (interrupts != 0) throw Interrupted();
}

}  // namespace fourfold
