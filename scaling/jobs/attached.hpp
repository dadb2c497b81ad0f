// Runs one long job in the foreground: it speaks for itself, and is asked to stop when we are.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fourfold::inline scaling::inline jobs {

struct AttachedResult {
  int status = 0;            // exit status; 128 + signal if it died of one
  int signal = 0;            // that it died of; 0: it ended by itself
  bool interrupted = false;  // a signal to stop came meanwhile, to us or to it
  std::string given_up;      // why we have ended it, unless that was a second signal
};

// Takes what the command says, piece by piece, on each of its streams. One that nobody hears is
// ours.
struct Hearers {
  std::function<void(std::string_view)> output = {};
  std::function<void(std::string_view)> complaint = {};
};

// What a command says of itself that was given up: "has started nothing within ...".
struct NothingStarted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of a command that starts others, as mpirun does, and would end them when it is asked to stop:
// such signals to it are held back, and taken as if they had come to us.
struct Launching {
  std::function<bool()> has_started = {};  // whether those others have; empty: it starts none
  std::chrono::milliseconds at_most = std::chrono::minutes(3);  // until then
};

// Why the command is to be ended, which is asked ten times a second; empty: it is not.
using Watching = std::function<std::string(bool asked_to_stop)>;

// The command's input is empty. On the first signal to stop (interrupt.hpp) it gets SIGUSR1, which
// mpirun hands on to all ranks: finish and stop; one that is stopped (SIGSTOP) goes on to hear
// that. On the second it is ended at once, as is one that has not started what it launches. It ends
// with us, whatever ends us. Throws std::runtime_error if it cannot be started, and NothingStarted.
AttachedResult run_attached(const std::vector<std::string>& command, const Hearers& hearers = {},
                            const Launching& launching = {}, const Watching& watching = {});

}  // namespace fourfold::inline scaling::inline jobs
