// Starts gnuplot on plots/*.gp; see plot.hpp.
#include "scaling/plot.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "scaling/launch.hpp"

namespace fourfold {
namespace {

constexpr const char* plots[]{"pflops", "time"};

// Text between single quotes, as gnuplot reads it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char letter : text) result += letter == '\'' ? std::string("''") : std::string(1, letter);
  return result + "'";
}

}  // namespace

std::string draw_plots(const std::string& folder, const std::vector<std::string>& machines) {
  std::vector<Job> jobs;
  for (const char* plot : plots) {
    const std::string settings = fmt::format(
        "csv={}; output={}; machines={}", quoted(folder + "/summary.csv"),
        quoted(folder + "/" + plot), quoted(fmt::format("{}", fmt::join(machines, " "))));
    jobs.push_back(
        {{"gnuplot", "-e", settings, fmt::format("{}/plots/{}.gp", FOURFOLD_SOURCE_DIR, plot)},
         ""});
  }
  std::vector<JobResult> results;
  try {
    results = run_side_by_side(jobs);
  } catch (const std::runtime_error& error) {
    return fmt::format("no plots: {}; install gnuplot-nox and run the same command again",
                       error.what());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].status != 0) {
      return fmt::format("no plot '{}': gnuplot ended with status {}: {}", plots[i],
                         results[i].status, results[i].complaint);
    }
  }
  return fmt::format("{0}/pflops.png, {0}/pflops.svg, {0}/time.png and {0}/time.svg are drawn",
                     folder);
}

}  // namespace fourfold
