// Verbs that fourfold-engine and fourfold-bench do, under mpirun where they take several ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline jobs {

struct EngineJob {
  int status = 0;       // of the whole command
  nlohmann::json plan;  // what the engine said beforehand; null if it refused or only gave help
  // "rank 1 was killed by signal 9 (Killed)", or why a silent job was ended; empty if neither.
  std::string killed;
};

// A verb of an executable that lies beside this one.
struct EngineVerb {
  std::string executable;  // "fourfold-engine"
  std::string verb;
};

// Asks the executable whether the words after the verb are right and how many ranks they take, and
// starts it. What is refused is said before any mpirun. Ctrl-C gives status 130. Throws
// std::runtime_error if something cannot be started.
EngineJob run_engine_verb(const EngineVerb& what, const std::vector<std::string>& typed);

// Whether mpirun or srun has started this process as one of several ranks.
bool one_of_several_ranks();
// Goes on as the executable, in this very process: a rank that mpirun or srun started stays one.
// Returns only by throwing std::runtime_error.
[[noreturn]] void become(const EngineVerb& what, const std::vector<std::string>& typed);

// Whether processes may copy from each other's memory; containers often forbid it, and Open MPI
// then complains at every rank.
bool may_read_other_memory();

}  // namespace fourfold::inline scaling::inline jobs
