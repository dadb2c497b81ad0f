// What the verbs have in common; see verbs.hpp.
#include "engine/train/verbs.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/cpu/sgemm.hpp"
#include "engine/train/run/stop.hpp"

namespace fourfold {

int complain(const std::string& sentence, int status) {
  fmt::print(stderr, "fourfold: {}\n", sentence);
  return status;
}

int print_help(const CLI::App& app) {
  const std::string text = app.help();
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  if (errno == EPIPE) return 0;  // the reader, say `head`, has seen enough
  return complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)), 1);
}

int work_over_mpi(const Started& started, const std::function<int(const Session&)>& work) {
  use_one_thread();
  return run_session(started.count, started.words, [&](const Session& session) {
    watch_for_stop();
    return work(session);
  });
}

}  // namespace fourfold
