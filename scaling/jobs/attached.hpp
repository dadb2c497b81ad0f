// Runs one long job in the foreground: it speaks for itself, and is asked to stop when we are.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fourfold {

struct AttachedResult {
  int status = 0;            // exit status; 128 + signal if it died of one
  int signal = 0;            // that it died of; 0: it ended by itself
  bool interrupted = false;  // Ctrl-C or SIGTERM came meanwhile
};

// Takes what the command says, piece by piece, on each of its streams. One that nobody hears is
// ours.
struct Hearers {
  std::function<void(std::string_view)> output = {};
  std::function<void(std::string_view)> complaint = {};
};

// The command's input is empty. On
// the first Ctrl-C or SIGTERM it gets SIGUSR1 (which mpirun hands on to all ranks: finish and
// stop), on the second SIGTERM. It ends with us, whatever ends us. Throws std::runtime_error if it
// cannot be started.
AttachedResult run_attached(const std::vector<std::string>& command, const Hearers& hearers = {});

}  // namespace fourfold
