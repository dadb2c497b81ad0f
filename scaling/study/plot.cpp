// Starts gnuplot on plots/*.gp; see plot.hpp.
#include "scaling/study/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "scaling/jobs/launch.hpp"
#include "scaling/study/figure.hpp"
#include "support/own_file.hpp"
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

// A plot by the name of its script, the path of its pictures without their endings, and what else
// the script expects to be set.
struct Plot {
  std::string name, output;
  std::string settings;
};

// Pictures, and with what a whole one ends: gnuplot says nothing of a disk that was full.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> endings{
    {{".png", "IEND\xAE\x42\x60\x82"}, {".svg", "</svg>"}, {".pdf", "%%EOF"}}};

std::string draft_of(const Plot& plot) {
  return plot.output + ".new";
}

bool drawn(const Plot& plot) {
  return std::ranges::all_of(endings, [&](const auto& ending) {
    const std::string path = draft_of(plot) + std::string(ending.first);
    std::error_code missing;
    if (!std::filesystem::is_regular_file(path, missing)) return false;
    std::string picture = read_whole_file(path);
    picture.resize(picture.find_last_not_of('\n') + 1);  // gnuplot ends an SVG with one or two
    return picture.ends_with(ending.second);
  });
}

// Drafts take their names, or go.
void settle(const Plot& plot, bool whole) {
  for (const auto& [ending, end] : endings) {
    const std::string draft = draft_of(plot) + std::string(ending);
    std::error_code missing;
    if (whole) {
      std::filesystem::rename(draft, plot.output + std::string(ending));
    } else {
      std::filesystem::remove(draft, missing);
    }
  }
}

// Draws OUTPUT.png, .svg and .pdf of each; what was there before stays if that fails, which is an
// error. Returns an empty text, or a sentence that gnuplot is missing.
std::string draw(const std::vector<Plot>& wanted) {
  std::vector<Job> jobs;
  for (const Plot& plot : wanted) {
    jobs.push_back(
        {{"gnuplot", "-e",
          fmt::format("{}{}output={}", style_setting(), plot.settings, quoted(draft_of(plot))),
          script(plot.name)},
         ""});
  }
  std::vector<JobResult> results;
  try {
    results = run_side_by_side(jobs);
  } catch (const std::runtime_error& error) {
    return fmt::format("no plots: {}; install gnuplot-nox and run the same command again",
                       error.what());
  }
  std::string failure;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool whole = results[i].status == 0 && drawn(wanted[i]);
    settle(wanted[i], whole);
    if (whole || !failure.empty()) continue;
    failure = results[i].status == 0
                  ? fmt::format("cannot draw {}: the picture breaks off; is the disk full?",
                                wanted[i].output)
                  : fmt::format("cannot draw {}: gnuplot ended with status {}: {}",
                                wanted[i].output, results[i].status, results[i].complaint);
  }
  if (!failure.empty()) throw std::runtime_error(failure);
  return "";
}

// Draws `output`.png, .svg and .pdf from a CSV; `settings` are what else the script expects.
// Returns a sentence for the user.
std::string draw(const char* name, const std::string& csv, const std::string& output,
                 const std::string& settings) {
  const std::string missing =
      draw({{name, output, fmt::format("csv={}; {}; ", quoted(csv), settings)}});
  return missing.empty() ? fmt::format("{0}.png, .svg and .pdf are drawn", output) : missing;
}

// What the values of the rows are: as the campaign says, or the key that its sweep sets.
std::string axis_of(const Study& study) {
  if (!study.axis.empty()) return study.axis;
  for (const StudyRow& row : study.rows) {
    if (!row.value) continue;
    return row.label == row.line ? "value" : row.line.substr(row.line.rfind(' ') + 1);
  }
  return "devices (GPUs; GCDs on MI250X)";
}

std::string fidelities(const Study& study) {
  const auto fidelity = [](const StudyRow& row) { return name(row.record.fidelity); };
  return fmt::format("{}", fmt::join(different(study, fidelity), " and "));
}

// What a script expects to be set, but for its output. `data` is the name of its CSV.
std::string settings_of(const std::string& data, const Study& study, const std::string& folder) {
  return fmt::format(
      "csv={}; heading={}; fidelity={}; machines={}; source={}; what={}; axis={}; "
      "reference={}; ",
      quoted(fmt::format("{}/{}.csv", folder, data)), quoted(study.title),
      quoted(fidelities(study)), quoted(fmt::format("{}", fmt::join(machines(study), " "))),
      quoted(study.published_source), quoted(unit_text(study)), quoted(axis_of(study)),
      quoted(data == "lines" ? reference_text(study) : ""));
}

// More bars or lines than this nobody reads, and a picture of some 350 bars is wider than Cairo draws.
constexpr std::size_t most_entries = 200;

// Bars or lines: the different first cells below the names of the columns.
std::size_t entries_of(const std::string& csv) {
  std::set<std::string> entries;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) entries.insert(line.substr(0, line.find(',')));
  return entries.size();
}

}  // namespace

std::string draw_figures(const std::vector<std::string>& kinds, const Study& study,
                         const std::string& folder) {
  std::vector<Plot> wanted;
  std::vector<std::string> names, without, crowded;
  for (const std::string& kind : kinds) {
    const std::string csv = figure_csv(kind, study);
    const bool no_rows = !csv.empty() && csv.find('\n') + 1 == csv.size();
    const bool too_many = entries_of(csv) > most_entries;
    (no_rows ? without : too_many ? crowded : names).push_back(kind);
    if (no_rows) continue;
    if (!csv.empty()) write_own_file(fmt::format("{}/{}.csv", folder, kind), csv);
    if (too_many) continue;
    wanted.push_back(
        {kind, folder + '/' + kind, settings_of(csv.empty() ? "summary" : kind, study, folder)});
  }
  std::vector<std::string> left_out;
  if (!without.empty()) {
    left_out.push_back(fmt::format(
        "nothing to draw for {}: ranks shows grids that are simulated, lines the labels of sweeps",
        fmt::join(without, ", ")));
  }
  if (!crowded.empty()) {
    left_out.push_back(fmt::format(
        "nothing to draw for {}: more than {} bars or lines, which nobody reads; the CSV is written",
        fmt::join(crowded, ", "), most_entries));
  }
  const std::string nothing = fmt::format("{}", fmt::join(left_out, "; "));
  if (names.empty()) return nothing;
  const std::string missing = draw(wanted);
  if (!missing.empty()) return missing;
  return fmt::format("{}: {} are drawn (.png, .svg, .pdf){}", folder, fmt::join(names, ", "),
                     nothing.empty() ? "" : "; " + nothing);
}

std::string preview(const std::string& kind, const Study& study, const std::string& folder) {
  const std::string data = figure_csv(kind, study).empty() ? "summary" : kind;
  const std::string settings =
      style_setting() + settings_of(data, study, folder) + "output=''; preview=1";
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

std::string draw_memorisation(const std::string& folder, const std::string& title) {
  return draw("memorisation", folder + "/memorisation.csv", folder + "/memorisation",
              "heading=" + quoted(title));
}

}  // namespace fourfold
