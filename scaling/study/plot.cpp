// Starts gnuplot on plots/*.gp; see plot.hpp.
#include "scaling/study/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "scaling/jobs/launch.hpp"
#include "support/whole_file.hpp"

namespace fourfold {
namespace {

constexpr const char* plots[]{"pflops", "time"};

// Text between single quotes, as gnuplot reads it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char letter : text) result += letter == '\'' ? std::string("''") : std::string(1, letter);
  return result + "'";
}

// A plot by the name of its script, the path of its pictures without their endings, and what else
// the script expects to be set.
struct Plot {
  std::string name, output;
  std::string settings;
};

// Pictures, and with what a whole one ends: gnuplot says nothing of a disk that was full.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> endings{
    {{".png", "IEND\xAE\x42\x60\x82"}, {".svg", "</svg>"}}};

std::string draft_of(const Plot& plot) {
  return plot.output + ".new";
}

bool drawn(const Plot& plot) {
  return std::ranges::all_of(endings, [&](const auto& ending) {
    const std::string path = draft_of(plot) + std::string(ending.first);
    std::error_code missing;
    if (!std::filesystem::is_regular_file(path, missing)) return false;
    std::string picture = read_whole_file(path);
    picture.erase(picture.find_last_not_of('\n') + 1);
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

// Draws OUTPUT.png and OUTPUT.svg of each from the CSV that all read; what was there before stays
// if that fails, which is an error. Returns a sentence for the user: without gnuplot there are no
// plots.
std::string draw(const std::vector<Plot>& wanted, const std::string& csv) {
  std::vector<Job> jobs;
  std::string names;
  for (const Plot& plot : wanted) {
    jobs.push_back(
        {{"gnuplot", "-e",
          fmt::format("csv={}; output={}; {}", quoted(csv), quoted(draft_of(plot)), plot.settings),
          fmt::format("{}/plots/{}.gp", FOURFOLD_SOURCE_DIR, plot.name)},
         ""});
    names += fmt::format("{0}{1}.png and {1}.svg", names.empty() ? "" : ", ", plot.output);
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
  return names + " are drawn";
}

}  // namespace

std::string draw_plots(const std::string& folder, const std::vector<std::string>& machines,
                       const std::string& published_source) {
  std::vector<Plot> wanted;
  for (const char* plot : plots) {
    wanted.push_back(
        {plot, folder + "/" + plot,
         fmt::format("machines={}; source={}", quoted(fmt::format("{}", fmt::join(machines, " "))),
                     quoted(published_source))});
  }
  return draw(wanted, folder + "/summary.csv");
}

std::string draw_systems(const std::string& folder, const std::string& title) {
  return draw({{"systems", folder + "/systems", "heading=" + quoted(title)}},
              folder + "/summary.csv");
}

std::string draw_loss_curve(const std::string& folder, const LossTable& losses) {
  return draw({{"loss", folder + "/loss",
                fmt::format("model={}; data={}; word={}", quoted(losses.model), quoted(losses.data),
                            quoted(losses.word))}},
              folder + "/loss.csv");
}

std::string draw_scatter(const std::string& csv, const std::vector<std::string>& studies,
                         const std::string& fidelity) {
  const std::string output = csv.ends_with(".csv") ? csv.substr(0, csv.size() - 4) : csv;
  // gnuplot takes what stands between double quotes as one word.
  const std::string words = fmt::format("\"{}\"", fmt::join(studies, "\" \""));
  return draw({{"scatter", output,
                fmt::format("studies={}; fidelity={}", quoted(words), quoted(fidelity))}},
              csv);
}

std::string draw_influence(const std::string& folder, const std::string& title) {
  return draw({{"influence", folder + "/influence", "title=" + quoted(title)}},
              folder + "/influence.csv");
}

}  // namespace fourfold
