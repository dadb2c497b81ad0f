// What the verbs have in common; see verbs.hpp.
#include "engine/train/verbs.hpp"

#include <CLI/App.hpp>

#include "engine/cpu/sgemm.hpp"
#include "support/exit_status.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline train {

int print_help(const CLI::App& app) {
  print(app.help());
  return status_done;
}

int work_over_mpi(const Started& started, const std::function<int(const Session&)>& work) {
  use_one_thread();
  return run_session(started.count, started.words, work);
}

}  // namespace fourfold::inline engine::inline train
