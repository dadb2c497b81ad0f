// Tables, pictures and reports of records that are there; see campaign_views.hpp.
#include "scaling/study/campaign_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>

#include "scaling/records/record_json.hpp"
#include "scaling/study/answering.hpp"
#include "scaling/study/earlier_results.hpp"
#include "scaling/study/failure_log.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/study/report.hpp"
#include "scaling/study/study_table.hpp"
#include "support/own_file.hpp"
#include "support/prose.hpp"
#include "support/shell_word.hpp"
#include "support/standard_streams.hpp"
#include "support/text_file.hpp"
#include "support/visible_text.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

struct View {
  Campaign campaign;
  std::string folder;
  Answered answered;
  Study study;
};

View view_of(const CampaignOrder& order) {
  View view;
  view.campaign = campaign_of(order);
  view.folder = folder_of(view.campaign, order);
  view.answered = answered_by(view.campaign, read_records(records_file(view.folder)));
  view.study = study_of(view.campaign, view.answered);
  return view;
}

// What the builds of Fourfold that made the newest records answered.
Answered answered_by_newest(const View& view) {
  const std::vector<Record> records = read_records(records_file(view.folder));
  Builds builds;
  for (const Record& record : records) {
    (record.measured ? builds.engine : builds.projecting) = record.provenance.executables;
  }
  return answered_by(view.campaign, records, builds);
}

// Records of this build, or else, with a remark, those of the build that made the newest.
View view_with_records(const CampaignOrder& order) {
  View view = view_of(order);
  if (view.answered.records.empty()) {
    view.answered = answered_by_newest(view);
    if (!view.answered.records.empty()) {
      const Provenance& from = view.answered.records.back().provenance;
      say_line(
          fmt::format("{} has records of another build of Fourfold ({}, {}); "
                      "`fourfold campaign run {}` answers with this one",
                      view.folder, from.commit, from.time, shell_argument(order.file)));
      view.study = study_of(view.campaign, view.answered);
    }
  }
  view.study.unfit = unfit_points(view.campaign, view.answered, view.folder);
  if (view.answered.records.empty() && !view.study.unfit.empty()) {
    throw std::runtime_error(
        fmt::format("{} has no record, as nothing fits any of its points: {}: {}", view.folder,
                    view.study.unfit.front().name, view.study.unfit.front().why));
  }
  if (view.answered.records.empty()) {
    throw std::runtime_error(fmt::format(
        "{} has no record of this campaign as it is now; `fourfold campaign run {}` makes them",
        view.folder, shell_argument(order.file)));
  }
  return view;
}

// Sentences of the points that are not answered: why, or that nobody tried.
std::vector<std::string> unanswered(const View& view) {
  const auto reasons = logged_failures(failures_file(view.folder));
  const auto no = logged_failures(failures_file(view.folder), Failing::no);
  std::vector<std::string> sentences;
  for (std::size_t i : view.answered.missing) {
    const std::string& key = view.answered.keys[i];
    const auto why = reasons.find(key), unfit = no.find(key);
    sentences.push_back(point_name(view.campaign, i) + ": " +
                        (unfit != no.end()      ? "fits nowhere: " + unfit->second
                         : why == reasons.end() ? "not run yet"
                                                : "failed: " + why->second));
  }
  return sentences;
}

// The same of the simulated twins of measured points.
std::vector<std::string> unanswered_twins(const View& view) {
  const auto reasons = logged_failures(failures_file(view.folder));
  std::vector<std::string> sentences;
  for (std::size_t i : view.answered.missing_twins) {
    const bool calibrated = is_calibrated(view.campaign.questions[i].platform);
    const auto why =
        calibrated ? reasons.find(key_of(view.campaign, i, Rung::projected)) : reasons.end();
    sentences.push_back(point_name(view.campaign, i) + ": its twin is " +
                        (why == reasons.end() ? "not simulated yet" : "missing: " + why->second));
  }
  return sentences;
}

}  // namespace

Status campaign_status(const CampaignOrder& order) {
  const View view = view_of(order);
  const std::vector<std::string> sentences = unanswered(view);
  const auto count = [&](const char* words) {
    return std::ranges::count_if(sentences, [&](const std::string& sentence) {
      return sentence.find(words) != std::string::npos;
    });
  };
  const auto failed = count(": failed: "), unfit = count(": fits nowhere: ");
  const auto all = static_cast<std::int64_t>(view.campaign.questions.size());
  Status status{
      fmt::format("{}\n{}: {} of {} answered, {} failed, {}{} not run yet\n", view.campaign.title,
                  view.folder, view.answered.records.size(), counted(all, "point"), failed,
                  unfit > 0 ? fmt::format("{} without a grid that fits, ", unfit) : "",
                  static_cast<std::int64_t>(sentences.size()) - failed - unfit),
      sentences.empty()};
  for (const std::string& sentence : sentences) status.text += "  " + sentence + '\n';
  if (view.answered.records.empty()) {
    const auto elsewhere = std::ssize(answered_by_newest(view).records);
    if (elsewhere > 0) {
      status.text +=
          fmt::format("  {} of another build of Fourfold: table, plot and report show {}\n",
                      counted(elsewhere, "record"), elsewhere == 1 ? "it" : "them");
    }
  }
  for (const std::string& sentence : unanswered_twins(view)) {
    status.text += "  " + sentence + '\n';
    status.complete = false;
  }
  return status;
}

std::string campaign_table(const CampaignOrder& order) {
  return text_of(view_with_records(order).study, order.width);
}

std::string campaign_export(const CampaignOrder& order, const std::string& form) {
  const View view = view_with_records(order);
  if (form == "csv") return study_csv(with_twins(view.study));
  if (form == "latex") return study_latex(view.study);
  std::string lines;
  for (const Record& record : view.answered.records) lines += to_json(record) + '\n';
  return lines;
}

DrawnFigures campaign_plot(const CampaignOrder& order, const std::string& kind) {
  const View view = view_with_records(order);
  std::vector<std::string> kinds = figures_of(view.campaign, view.study);
  if (!kind.empty()) kinds = {figure_named(kind).name};
  if (write_summary(view.folder, study_csv(with_twins(view.study)), kinds)) {
    write_own_file(view.folder + "/table.txt", text_of(view.study, Width::whole));
  }
  DrawnFigures drawn = draw_figures(kinds, with_twins(view.study), view.folder, order.width_in);
  // What was asked for by name must be there; a campaign may run without what its own figures show.
  if (!kind.empty() && drawn.said.starts_with("nothing to draw")) {
    throw std::runtime_error(drawn.said);
  }
  if (!drawn.said.empty()) drawn.said += '\n';
  return drawn;
}

DrawnFigures campaign_preview(const CampaignOrder& order, const std::string& kind) {
  DrawnFigures drawn = campaign_plot(order, kind);
  const View view = view_with_records(order);
  std::vector<std::string> kinds = figures_of(view.campaign, view.study);
  if (!kind.empty()) kinds = {kind};
  drawn.said.clear();
  for (const std::string& one : kinds) {
    const auto nothing = drawn.nothing.find(one);
    drawn.said += nothing == drawn.nothing.end() ? preview(one, with_twins(view.study), view.folder)
                                                 : nothing->second + '\n';
  }
  return drawn;
}

DrawnFigures campaign_report(const CampaignOrder& order) {
  const View view = view_with_records(order);
  DrawnFigures drawn = campaign_plot(order, "");
  ReportParts parts{
      read_text_file(order.file), {}, unanswered(view), text_of(view.study, Width::whole), {}};
  for (const auto& [kind, sentence] : drawn.failures) parts.not_drawn.push_back(sentence);
  for (const std::string& kind : drawn.drawn) {
    parts.pictures.push_back(view.folder + '/' + kind + ".svg");
  }
  const std::string path = view.folder + "/report.html";
  write_own_file(path, report_html(view.study, parts));
  drawn.said += '\n' + visible_line(path) + " is written";
  return drawn;
}

std::string collect_campaign(const CampaignOrder& order) {
  const Campaign campaign = campaign_of(order);
  const std::string folder = folder_of(campaign, order);
  if (!std::filesystem::is_directory(folder)) {
    throw std::runtime_error(folder +
                             " is no folder; --output names the one that `campaign script` wrote "
                             "its jobs for");
  }
  Store store(records_file(folder), Opening::resume);
  std::set<std::string> known;
  for (const Record& record : store.records()) known.insert(record.key);
  std::vector<std::filesystem::path> parts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool of_part = name.starts_with("records.slice-") || name.starts_with("records.devices-");
    if (of_part && name.ends_with(".jsonl")) {
      parts.push_back(entry.path());
    }
  }
  std::ranges::sort(parts);
  std::int64_t came = 0;
  for (const std::filesystem::path& part : parts) {
    for (const Record& record : read_records(part.string())) {
      if (!known.insert(record.key).second) continue;
      store.append(record);
      ++came;
    }
  }
  return fmt::format("{} from {} came into {}\n", counted(came, "record"),
                     counted(std::ssize(parts), "part"), records_file(folder));
}

}  // namespace fourfold::inline scaling::inline study
