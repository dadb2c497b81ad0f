// The verbs of fourfold-engine, the executable that computes: `fourfold` checks and starts them.
// With
// --plan a verb only checks its command line and says, as JSON, how many ranks it needs and with
// which arguments to start it, before any mpirun.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/mpi/session.hpp"
#include "support/complaint.hpp"

namespace CLI {
class App;
}

namespace fourfold::inline engine::inline train {

// What main was called with.
struct Started {
  int count = 0;
  char** words = nullptr;
  // Those after the verb.
  std::vector<std::string> arguments() const { return {words + 2, words + count}; }
};

// On standard output; returns the status.
int print_help(const CLI::App& app);

// Runs the work on one thread a rank, MPI started.
int work_over_mpi(const Started& started, const std::function<int(const Session&)>& work);

}  // namespace fourfold::inline engine::inline train
