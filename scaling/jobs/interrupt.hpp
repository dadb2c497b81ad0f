// Ctrl-C, SIGTERM and a terminal that hangs up: a request to stop that long work looks at, so that
// finished points are kept.
#pragma once

#include <exception>

namespace fourfold::inline scaling::inline jobs {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// From here on SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) only leave a note.
// Work that does not look at it is ended with its process six seconds later, and by a second one
// at once, with status 130; what it has started ends with it. What
// comes within a moment of the first belongs to it: one event may send several (a shell and its
// terminal that go, `timeout`, a queue that signals all processes of a job).
// Call once, before any thread or child exists.
void watch_for_interrupts();

// How many of them have come.
int interrupts_so_far();

// While it lives, time and a second signal end nothing: somebody waits for a child, and ends it.
class PatientlyInterrupted {
 public:
  PatientlyInterrupted();
  ~PatientlyInterrupted();
  PatientlyInterrupted(const PatientlyInterrupted&) = delete;
  PatientlyInterrupted& operator=(const PatientlyInterrupted&) = delete;
};

// Throws Interrupted if a signal came.
void stop_if_interrupted();

}  // namespace fourfold::inline scaling::inline jobs
