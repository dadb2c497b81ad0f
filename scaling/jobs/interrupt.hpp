// Ctrl-C and SIGTERM: a request to stop that long work looks at, so that finished points are kept.
#pragma once

#include <exception>

namespace fourfold {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// From here on the two signals only leave a note. Call once, before any thread or child exists.
void watch_for_interrupts();

// How many of them have come, for those who let a child finish first.
int interrupts_so_far();

// Throws Interrupted if a signal came.
void stop_if_interrupted();

}  // namespace fourfold
