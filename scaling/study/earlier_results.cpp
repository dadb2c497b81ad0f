// Knows its own files by their first line; see earlier_results.hpp.
#include "scaling/study/earlier_results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "scaling/study/figure.hpp"
#include "scaling/study/report.hpp"
#include "scaling/study/study_table.hpp"
#include "support/own_file.hpp"
#include "support/standard_streams.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

namespace files = std::filesystem;

bool is_plain(const std::string& path) {
  std::error_code missing;
  return files::symlink_status(path, missing).type() == files::file_type::regular;
}

std::string summary_in(const std::string& folder) {
  return folder + "/summary.csv";
}

// A CSV with this line of column names.
bool is_ours(const std::string& path, const std::string& heading) {
  if (!is_plain(path)) return false;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line + '\n' == heading;
}

void take_away(const std::string& path) {
  std::error_code error;
  files::remove(path, error);
  if (!error) return;
  throw std::runtime_error(fmt::format("cannot take away {}: {}", path, error.message()));
}

bool is_summary_ours(const std::string& folder) {
  return is_ours(summary_in(folder), study_csv({}));
}

constexpr std::array picture_endings{".png", ".svg", ".pdf"};

// A picture of somebody else's has one of them.
bool is_picture_ours(const std::string& path) {
  return std::ranges::all_of(picture_endings,
                             [&](const char* ending) { return is_plain(path + ending); });
}

void take_away_picture(const std::string& path) {
  for (const char* ending : picture_endings) take_away(path + ending);
}

// Returns whether there was one.
bool take_away_report(const std::string& folder) {
  const std::string path = folder + "/report.html";
  if (!is_plain(path) || !is_report(read_whole_file(path))) return false;
  take_away(path);
  return true;
}

}  // namespace

bool take_away_drawn(const std::string& path, const std::string& heading) {
  if (!is_ours(path + ".csv", heading)) return false;
  take_away(path + ".csv");
  if (is_picture_ours(path)) take_away_picture(path);
  return true;
}

bool take_away_figure(const std::string& folder, const std::string& kind) {
  const std::string path = folder + '/' + kind, heading = figure_csv(kind, {});
  if (!heading.empty()) return take_away_drawn(path, heading);
  if (!is_summary_ours(folder) || !is_picture_ours(path)) return false;
  take_away_picture(path);
  return true;
}

bool write_summary(const std::string& folder, const std::string& csv,
                   const std::vector<std::string>& drawn_anew) {
  std::vector<std::string> names;
  const bool earlier = is_summary_ours(folder) && read_whole_file(summary_in(folder)) != csv;
  for (const FigureKind& kind : figure_kinds()) {
    const bool stays = std::ranges::find(drawn_anew, kind.name) != drawn_anew.end();
    if (earlier && !stays && take_away_figure(folder, kind.name)) names.emplace_back(kind.name);
  }
  if (earlier && take_away_report(folder)) names.emplace_back("report.html");
  if (!names.empty()) {
    say_line(fmt::format("{}: taken away, as they show the campaign before: {}", folder,
                         fmt::join(names, ", ")));
  }
  write_own_file(summary_in(folder), csv);
  return earlier;
}

void take_away_results(const std::string& folder) {
  if (!is_summary_ours(folder)) return;
  for (const FigureKind& kind : figure_kinds()) take_away_figure(folder, kind.name);
  take_away_report(folder);
  if (const std::string table = folder + "/table.txt"; is_plain(table)) take_away(table);
  take_away(summary_in(folder));
}

}  // namespace fourfold::inline scaling::inline study
