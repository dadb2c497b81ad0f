// Starts gnuplot on plots/*.gp; see plot.hpp.
#include "scaling/study/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "scaling/jobs/launch.hpp"

namespace fourfold {
namespace {

constexpr const char* plots[]{"pflops", "time"};

// Text between single quotes, as gnuplot reads it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char letter : text) result += letter == '\'' ? std::string("''") : std::string(1, letter);
  return result + "'";
}

// A plot by the name of its script, with what the script expects to be set.
struct Plot {
  const char* name;
  std::string settings;
};

// The sentence about the first plot that could not be drawn; empty if all are.
std::string why_not_drawn(const std::vector<Plot>& wanted) {
  std::vector<Job> jobs;
  for (const Plot& plot : wanted) {
    jobs.push_back({{"gnuplot", "-e", plot.settings,
                     fmt::format("{}/plots/{}.gp", FOURFOLD_SOURCE_DIR, plot.name)},
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
      return fmt::format("no plot '{}': gnuplot ended with status {}: {}", wanted[i].name,
                         results[i].status, results[i].complaint);
    }
  }
  return "";
}

}  // namespace

std::string draw_plots(const std::string& folder, const std::vector<std::string>& machines,
                       const std::string& published_source) {
  std::vector<Plot> wanted;
  for (const char* plot : plots) {
    wanted.push_back(
        {plot, fmt::format("csv={}; output={}; machines={}; source={}",
                           quoted(folder + "/summary.csv"), quoted(folder + "/" + plot),
                           quoted(fmt::format("{}", fmt::join(machines, " "))),
                           quoted(published_source))});
  }
  const std::string failure = why_not_drawn(wanted);
  if (!failure.empty()) return failure;
  return fmt::format("{0}/pflops.png, {0}/pflops.svg, {0}/time.png and {0}/time.svg are drawn",
                     folder);
}

std::string draw_systems(const std::string& folder, const std::string& title) {
  const std::string failure = why_not_drawn(
      {{"systems", fmt::format("csv={}; output={}; heading={}", quoted(folder + "/summary.csv"),
                               quoted(folder + "/systems"), quoted(title))}});
  return failure.empty() ? fmt::format("{0}/systems.png and {0}/systems.svg are drawn", folder)
                         : failure;
}

std::string draw_loss_curve(const std::string& folder, const LossTable& losses) {
  const std::string failure = why_not_drawn(
      {{"loss", fmt::format("csv={}; output={}; model={}; data={}; word={}",
                            quoted(folder + "/loss.csv"), quoted(folder + "/loss"),
                            quoted(losses.model), quoted(losses.data), quoted(losses.word))}});
  return failure.empty() ? fmt::format("{0}/loss.png and {0}/loss.svg are drawn", folder) : failure;
}

std::string draw_scatter(const std::string& csv, const std::vector<std::string>& studies,
                         const std::string& fidelity) {
  const std::string output = csv.ends_with(".csv") ? csv.substr(0, csv.size() - 4) : csv;
  // gnuplot takes what stands between double quotes as one word.
  const std::string words = fmt::format("\"{}\"", fmt::join(studies, "\" \""));
  const std::string failure = why_not_drawn(
      {{"scatter", fmt::format("csv={}; output={}; studies={}; fidelity={}", quoted(csv),
                               quoted(output), quoted(words), quoted(fidelity))}});
  return failure.empty() ? fmt::format("{0}.png and {0}.svg are drawn", output) : failure;
}

std::string draw_influence(const std::string& folder, const std::string& title) {
  const std::string failure = why_not_drawn(
      {{"influence", fmt::format("csv={}; output={}; title={}", quoted(folder + "/influence.csv"),
                                 quoted(folder + "/influence"), quoted(title))}});
  return failure.empty() ? fmt::format("{0}/influence.png and {0}/influence.svg are drawn", folder)
                         : failure;
}

}  // namespace fourfold
