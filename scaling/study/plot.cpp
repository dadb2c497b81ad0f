// Which plots of plots/*.gp are drawn of what; see plot.hpp.
#include "scaling/study/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <sstream>
#include <stdexcept>

#include "scaling/study/earlier_results.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/picture.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/sweep_lines.hpp"
#include "support/own_file.hpp"
#include "support/visible_text.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

// A picture of something else than a study. Returns a sentence for the user.
std::string draw_one(Picture picture, double width_in = 0.0) {
  picture.width_in = width_in;
  try {
    const std::string failure = draw({picture}).front();
    if (!failure.empty()) throw std::runtime_error(failure);
  } catch (const NoGnuplot& missing) {
    return missing.what();
  }
  return fmt::format("{0}.png, .svg and .pdf are drawn", picture.output);
}

std::string fidelities(const Study& study) {
  const auto fidelity = [](const StudyRow& row) { return name(row.record.fidelity); };
  return fmt::format("{}", fmt::join(different(study, fidelity), " and "));
}

// "perlmutter 8 gpt-640b and 3 more": points that are not in the picture.
std::string unfit_text(const Study& study) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (const UnfitPoint& point : study.unfit) names.push_back(point.name);
  const std::size_t more = names.size() > most ? names.size() - most : 0;
  names.resize(names.size() - more);
  return fmt::format("{}", fmt::join(names, ", ")) +
         (more > 0 ? fmt::format(" and {} more", more) : "");
}

// A kind of figure, from its CSV or, where that is empty, from the study's own.
Picture picture_of(const std::string& kind, const std::string& csv, const Study& study,
                   const std::string& folder) {
  Picture picture{kind, csv.empty() ? study_csv(study) : csv, folder + '/' + kind, {study.title}};
  if (kind == "ranks") return picture;
  picture.texts.push_back(fidelities(study));
  if (kind == "lines") {
    picture.texts.insert(picture.texts.end(), {axis_text(study), reference_text(study)});
  } else if (kind == "machines") {
    picture.texts.push_back(unit_text(study));
  } else {
    picture.texts.push_back(study.published_source);
  }
  if (kind == "strong") picture.texts.push_back(unit_text(study));
  picture.texts.push_back(unfit_text(study));
  return picture;
}

// More bars or lines than this nobody reads, and a picture of some 350 bars is wider than Cairo
// draws.
constexpr std::size_t most_entries = 200;

std::string without_rows(const std::string& kinds) {
  return fmt::format(
      "nothing to draw for {}: ranks shows grids that are simulated, lines the labels of sweeps",
      kinds);
}

std::string too_crowded(const std::string& kinds) {
  return fmt::format(
      "nothing to draw for {}: more than {} bars or lines, which nobody reads; the CSV is written",
      kinds, most_entries);
}

// Bars or lines: the different first cells below the names of the columns.
std::size_t entries_of(const std::string& csv) {
  std::set<std::string> entries;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) entries.insert(line.substr(0, line.find(',')));
  return entries.size();
}

// Each picture gets an ending of its own.
std::string without_ending(const std::string& path) {
  for (const char* ending : {".csv", ".png", ".svg", ".pdf"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - std::strlen(ending));
  }
  return path;
}

}  // namespace

DrawnFigures draw_figures(const std::vector<std::string>& kinds, const Study& study,
                          const std::string& folder, double width_in) {
  std::vector<Picture> wanted;
  std::vector<std::string> without, crowded;
  DrawnFigures drawn;
  for (const std::string& kind : kinds) {
    const std::string csv = figure_csv(kind, study);
    const bool no_rows = !csv.empty() && csv.find('\n') + 1 == csv.size();
    const bool too_many = entries_of(csv) > most_entries;
    if (no_rows || too_many) {
      (no_rows ? without : crowded).push_back(kind);
      drawn.nothing[kind] = no_rows ? without_rows(kind) : too_crowded(kind);
      take_away_figure(folder, kind);
    }
    if (no_rows) continue;
    if (!csv.empty()) write_own_file(fmt::format("{}/{}.csv", folder, kind), csv);
    if (too_many) continue;
    wanted.push_back(picture_of(kind, csv, study, folder));
    wanted.back().width_in = width_in;
  }
  try {
    const std::vector<std::string> failures = draw(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (failures[i].empty()) drawn.drawn.push_back(wanted[i].script);
      if (!failures[i].empty()) drawn.failures[wanted[i].script] = failures[i];
    }
  } catch (const NoGnuplot& missing) {
    drawn.said = missing.what();
    return drawn;
  }
  std::vector<std::string> parts;
  if (!drawn.drawn.empty()) {
    parts.push_back(fmt::format("{}: {} are drawn (.png, .svg, .pdf)", visible_line(folder),
                                fmt::join(drawn.drawn, ", ")));
  }
  const auto all = [](const std::vector<std::string>& of) {
    return fmt::format("{}", fmt::join(of, ", "));
  };
  if (!without.empty()) parts.push_back(without_rows(all(without)));
  if (!crowded.empty()) parts.push_back(too_crowded(all(crowded)));
  drawn.said = fmt::format("{}", fmt::join(parts, "; "));
  return drawn;
}

std::string preview(const std::string& kind, const Study& study, const std::string& folder) {
  return in_characters(picture_of(kind, figure_csv(kind, study), study, folder));
}

std::string draw_loss_curve(const std::string& folder, const LossTable& losses) {
  return draw_one({"loss", losses.csv, folder + "/loss", {losses.model, losses.data, losses.word}});
}

std::string draw_scatter(const std::string& path, const std::string& csv,
                         const std::string& fidelity, double width_in) {
  return draw_one({"scatter", csv, without_ending(path), {fidelity}}, width_in);
}

std::string draw_influence(const std::string& folder, const std::string& title, double width_in) {
  return draw_one(
      {"influence", read_whole_file(folder + "/influence.csv"), folder + "/influence", {title}},
      width_in);
}

std::string draw_memory(const std::string& output, const std::string& csv, const std::string& title,
                        double width_in) {
  return draw_one({"memory", csv, without_ending(output), {title}}, width_in);
}

std::string draw_memorisation(const std::string& folder, const std::string& title,
                              double width_in) {
  return draw_one({"memorisation",
                   read_whole_file(folder + "/memorisation.csv"),
                   folder + "/memorisation",
                   {title}},
                  width_in);
}

}  // namespace fourfold::inline scaling::inline study
