// Signals as a note; see stop.hpp. The note is the one mutable global: a signal handler has nothing
// else to write to.
#include "engine/train/stop.hpp"

#include <csignal>
#include <initializer_list>

namespace fourfold {

namespace {

volatile std::sig_atomic_t stop_came = 0;

void note_stop(int signal) {
  if (stop_came != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  stop_came = 1;
}

}  // namespace

void watch_for_stop() {
  struct sigaction note {};
  note.sa_handler = note_stop;
  note.sa_flags = SA_RESTART;
  sigemptyset(&note.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaction(signal, &note, nullptr);
}

bool stop_asked() {
  return stop_came != 0;
}

}  // namespace fourfold
