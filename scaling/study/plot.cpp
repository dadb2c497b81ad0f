// Starts gnuplot on plots/*.gp; see plot.hpp.
#include "scaling/study/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "scaling/jobs/launch.hpp"
#include "scaling/study/figure.hpp"
#include "support/whole_file.hpp"

namespace fourfold {
namespace {

// Text between single quotes, as gnuplot reads it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char letter : text) result += letter == '\'' ? std::string("''") : std::string(1, letter);
  return result + "'";
}

std::string script(const std::string& name) {
  return fmt::format("{}/plots/{}.gp", FOURFOLD_SOURCE_DIR, name);
}

std::string style_setting() {
  return fmt::format("style={}; ", quoted(script("style")));
}

// A plot by the name of its script, with what the script expects to be set.
struct Plot {
  std::string name;
  std::string settings;
};

// The sentence about the first plot that could not be drawn; empty if all are.
std::string why_not_drawn(const std::vector<Plot>& wanted) {
  std::vector<Job> jobs;
  for (const Plot& plot : wanted) {
    jobs.push_back({{"gnuplot", "-e", style_setting() + plot.settings, script(plot.name)}, ""});
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

// Draws `output`.png, .svg and .pdf from a CSV; `settings` are what else the script expects.
// Returns a sentence for the user.
std::string draw(const char* name, const std::string& csv, const std::string& output,
                 const std::string& settings) {
  const std::string failure = why_not_drawn(
      {{name, fmt::format("csv={}; output={}; {}", quoted(csv), quoted(output), settings)}});
  return failure.empty() ? fmt::format("{0}.png, .svg and .pdf are drawn", output) : failure;
}

}  // namespace

namespace {

// What the script of the kind expects to be set, but for its output.
std::string settings_of(const std::string& kind, const Study& study, const std::string& folder) {
  const bool own_data = !figure_csv(kind, study).empty();
  const std::string axis = study.axis.empty() ? "devices (GPUs; GCDs on MI250X)" : study.axis;
  return fmt::format("csv={}; heading={}; machines={}; source={}; what={}; axis={}; ",
                     quoted(fmt::format("{}/{}.csv", folder, own_data ? kind : "summary")),
                     quoted(study.title),
                     quoted(fmt::format("{}", fmt::join(machines(study), " "))),
                     quoted(study.published_source), quoted(unit_text(study)), quoted(axis));
}

}  // namespace

std::string draw_figures(const std::vector<std::string>& kinds, const Study& study,
                         const std::string& folder) {
  std::vector<Plot> wanted;
  for (const std::string& kind : kinds) {
    const std::string csv = figure_csv(kind, study);
    if (!csv.empty()) write_whole_file(fmt::format("{}/{}.csv", folder, kind), csv);
    wanted.push_back({kind, settings_of(kind, study, folder) +
                                fmt::format("output={}", quoted(folder + '/' + kind))});
  }
  const std::string failure = why_not_drawn(wanted);
  if (!failure.empty()) return failure;
  return fmt::format("{}: {} are drawn (.png, .svg, .pdf)", folder, fmt::join(kinds, ", "));
}

std::string preview(const std::string& kind, const Study& study, const std::string& folder) {
  const std::string settings =
      style_setting() + settings_of(kind, study, folder) + "output=''; preview=1";
  const JobResult result =
      run_side_by_side({{{"gnuplot", "-e", settings, script(kind)}, "", 0}}).front();
  if (result.status != 0) {
    throw std::runtime_error(fmt::format("no plot '{}': gnuplot ended with status {}: {}", kind,
                                         result.status, result.complaint));
  }
  return result.output;
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

}  // namespace fourfold
