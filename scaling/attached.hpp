// Runs one long job in the foreground: it speaks for itself, and is asked to stop when we are.
#pragma once

#include <string>
#include <vector>

namespace fourfold {

struct AttachedResult {
  int status = 0;            // exit status; 128 + signal if it died of one
  bool interrupted = false;  // Ctrl-C or SIGTERM came meanwhile
};

// Output and errors of the command are ours, its input is empty. On the first Ctrl-C or SIGTERM it
// gets SIGUSR1 (which mpirun hands on to all ranks: finish and stop), on the second SIGTERM. It
// ends with us, whatever ends us. Throws std::runtime_error if it cannot be started.
AttachedResult run_attached(const std::vector<std::string>& command);

}  // namespace fourfold
