// Verbs that fourfold-engine does, under mpirun where they take several ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fourfold {

struct EngineJob {
  int status = 0;       // of the whole command
  nlohmann::json plan;  // what the engine said beforehand; null if it refused or only gave help
  // "rank 1 was killed by signal 9 (Killed)"; empty if no signal ended the job.
  std::string killed;
};

// Asks the engine whether the words after the verb are right and how many ranks they take, and
// starts it. What is refused is said before any mpirun. Ctrl-C gives status 130. Throws
// std::runtime_error if something cannot be started.
EngineJob run_engine_verb(const std::string& verb, const std::vector<std::string>& typed);

}  // namespace fourfold
