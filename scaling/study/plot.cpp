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

// Draws `output`.png and .svg from a CSV; `settings` are what else the script expects. Returns a
// sentence for the user.
std::string draw(const char* name, const std::string& csv, const std::string& output,
                 const std::string& settings) {
  const std::string failure = why_not_drawn(
      {{name, fmt::format("csv={}; output={}; {}", quoted(csv), quoted(output), settings)}});
  return failure.empty() ? fmt::format("{0}.png and {0}.svg are drawn", output) : failure;
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
  return draw("systems", folder + "/summary.csv", folder + "/systems", "heading=" + quoted(title));
}

std::string draw_loss_curve(const std::string& folder, const LossTable& losses) {
  return draw("loss", folder + "/loss.csv", folder + "/loss",
              fmt::format("model={}; data={}; word={}", quoted(losses.model), quoted(losses.data),
                          quoted(losses.word)));
}

std::string draw_scatter(const std::string& csv, const std::vector<std::string>& studies,
                         const std::string& fidelity) {
  const std::string output = csv.ends_with(".csv") ? csv.substr(0, csv.size() - 4) : csv;
  // gnuplot takes what stands between double quotes as one word.
  const std::string words = fmt::format("\"{}\"", fmt::join(studies, "\" \""));
  return draw("scatter", csv, output,
              fmt::format("studies={}; fidelity={}", quoted(words), quoted(fidelity)));
}

std::string draw_influence(const std::string& folder, const std::string& title) {
  return draw("influence", folder + "/influence.csv", folder + "/influence",
              "title=" + quoted(title));
}

std::string draw_memorisation(const std::string& folder, const std::string& title) {
  return draw("memorisation", folder + "/memorisation.csv", folder + "/memorisation",
              "heading=" + quoted(title));
}

}  // namespace fourfold
