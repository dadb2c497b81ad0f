// From questions to records to tables; see campaign_run.hpp.
#include "scaling/study/campaign_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "scaling/bars/sensitivity.hpp"
#include "scaling/find/granted.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/study/answering.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/earlier_results.hpp"
#include "scaling/study/failure_log.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/measured_point.hpp"
#include "scaling/study/measured_table.hpp"
#include "scaling/study/memorisation_run.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/sweep_lines.hpp"
#include "scaling/study/system_table.hpp"
#include "scaling/words/machine_name.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/toml_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/exit_status.hpp"
#include "support/json_object.hpp"
#include "support/own_file.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

void print_notices_of_machines(const Campaign& campaign) {
  std::set<std::string> said;
  for (const Question& question : campaign.questions) {
    if (!said.insert(question.platform).second || !is_calibrated(question.platform)) continue;
    print_notices(read_platform(question.platform, question.scales, question.software));
  }
}

// What is to be run, and how many records were found for the rest.
struct CampaignPlan {
  std::vector<OpenPoint> open;
  std::size_t kept = 0;
  std::size_t no = 0;  // points that nothing fitted before
};

bool is_wanted(const Campaign& campaign, std::size_t index, const CampaignOrder& order) {
  const auto number = static_cast<std::int64_t>(index);
  if (order.slice && number % order.slice->count != order.slice->index - 1) return false;
  return !order.devices || campaign.questions[index].devices == *order.devices;
}

CampaignPlan plan_of(const Campaign& campaign, const std::vector<Record>& records,
                     const CampaignOrder& order) {
  CampaignPlan plan;
  const Answered answered = answered_by(campaign, records);
  const auto open = [&](const std::vector<std::size_t>& missing, Rung rung) {
    for (std::size_t i : missing) {
      if (is_wanted(campaign, i, order)) plan.open.push_back({i, rung});
    }
  };
  // Asked again, what fits nowhere would fit nowhere.
  std::set<std::string> no;
  if (order.opening == Opening::resume) {
    for (const auto& [key, why] :
         logged_failures(failures_file(folder_of(campaign, order)), Failing::no)) {
      no.insert(key);
    }
  }
  std::vector<std::size_t> missing = answered.missing;
  std::erase_if(missing, [&](std::size_t i) { return no.contains(answered.keys[i]); });
  plan.no = answered.missing.size() - missing.size();
  if (!order.devices || !campaign.is_measured()) {
    open(campaign.is_measured() ? answered.missing_twins : missing, Rung::projected);
  }
  if (!order.slice && campaign.is_measured()) open(answered.missing, Rung::measured);
  plan.kept = answered.records.size();
  return plan;
}

// Where twins of measured points are to be simulated on this machine and it was never measured.
void calibrate_here(const Campaign& campaign, const CampaignOrder& order) {
  const bool needed = std::ranges::any_of(campaign.questions, [](const Question& question) {
    return !is_calibrated(question.platform);
  });
  if (!needed || order.devices) return;
  const std::string path = here_platform;
  if (order.slice) {
    throw std::runtime_error(
        "this machine is not calibrated yet, and a slice of a job array does "
        "not do it; first: fourfold calibrate --out " +
        path);
  }
  say_line("this machine is not calibrated yet: some two minutes, kept in " + path);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const Job job{{beside_this_executable("fourfold"), "calibrate", "--out", path}, ""};
  const JobResult result = run_side_by_side({job}).front();
  if (result.status == 0) return;
  throw std::runtime_error(
      fmt::format("the calibration {}: {}", ending_text(result), result.complaint));
}

std::string sensitivities(const Study& study) {
  std::map<std::string, const Record*> largest;
  for (const StudyRow& row : study.rows) {
    const Record*& record = largest[row.machine];
    const auto size = [](const Record& one) {
      return std::pair(parameter_count(one.point.model), one.devices());
    };
    if (record == nullptr || size(row.record) > size(*record)) record = &row.record;
  }
  std::string text =
      "What half and double of unconfirmed platform numbers would give, estimated, at each\n"
      "machine's largest model on most devices:\n\n";
  for (const std::string& machine : machines(study)) {
    text += sensitivity_table(sensitivity(largest[machine]->point)) + '\n';
  }
  return text;
}

std::string json_with_granted(const Record& record) {
  nlohmann::json object = parse_json(to_json(record), "the record");
  object["granted"] = granted_json(record);
  return object.dump();
}

// Whether all that could be written is.
enum class Written : std::uint8_t { whole, in_part };

Written write_results(const Campaign& campaign, const Store& store, const std::string& folder,
                      const CampaignOrder& order) {
  const Answered answered = answered_by(campaign, store.records());
  Study study = study_of(campaign, answered);
  study.unfit = unfit_points(campaign, answered, folder);
  const bool none = answered.records.empty();
  if (none) take_away_results(folder);
  if (none && study.unfit.empty()) return Written::whole;
  std::string lines;
  for (const Record& record : answered.records) {
    const bool granted = order.answers == Answers::json_granted;
    lines += (granted ? json_with_granted(record) : to_json(record)) + '\n';
  }
  write_own_file(folder + "/table.txt", text_of(study, Width::whole));
  print(order.answers == Answers::tables ? text_of(study, order.width) : lines);
  if (none) return Written::whole;
  const Study drawn = with_twins(study);
  const std::vector<std::string> kinds = figures_of(campaign, study);
  write_summary(folder, study_csv(drawn), kinds);
  const DrawnFigures figures = draw_figures(kinds, drawn, folder, order.width_in);
  if (!figures.said.empty()) say_line(figures.said);
  for (const auto& [kind, sentence] : figures.failures) say_line(sentence);
  return figures.failures.empty() ? Written::whole : Written::in_part;
}

void refuse_idle(const Campaign& campaign, const CampaignOrder& order) {
  if (!order.launch.empty() && (!campaign.is_measured() || order.slice)) {
    throw std::runtime_error(
        "--launch cannot take effect: it starts ranks of measured points; these are projected");
  }
  std::set<std::int64_t> all;
  for (const Question& question : campaign.questions) all.insert(question.devices);
  if (!order.devices || all.contains(*order.devices)) return;
  throw std::runtime_error(fmt::format("no point of the campaign is on {}; there are {}",
                                       counted(*order.devices, "device"), fmt::join(all, ", ")));
}

}  // namespace

std::vector<UnfitPoint> unfit_points(const Campaign& campaign, const Answered& answered,
                                     const std::string& folder) {
  const auto reasons = logged_failures(failures_file(folder), Failing::no);
  std::vector<UnfitPoint> points;
  for (std::size_t i : answered.missing) {
    const auto why = reasons.find(answered.keys[i]);
    if (why == reasons.end()) continue;
    const Question& question = campaign.questions[i];
    points.push_back({point_name(campaign, i), why->second, machine_name(question.platform),
                      question.devices, question.model.name,
                      campaign.tags.empty() ? "" : label_with_value(campaign.tags[i]),
                      question.system ? question.system->name : ""});
  }
  return points;
}

Campaign campaign_of(const CampaignOrder& order) {
  Campaign campaign = read_campaign(order.file, {order.grids_by, order.fidelity});
  if (!order.fidelity || *order.fidelity == campaign.fidelity) return campaign;
  if (*order.fidelity == Fidelity::measured) {
    throw std::runtime_error(order.file +
                             " is no measured campaign; it would say fidelity = \"measured\"");
  }
  campaign.fidelity = *order.fidelity;
  return campaign;
}

CampaignSlice slice_in(const std::string& word) {
  CampaignSlice slice;
  const char* end = word.data() + word.size();
  const auto index = std::from_chars(word.data(), end, slice.index);
  const bool split = index.ec == std::errc() && index.ptr != end && *index.ptr == '/';
  const auto count = split ? std::from_chars(index.ptr + 1, end, slice.count) : index;
  if (!split || count.ec != std::errc() || count.ptr != end || slice.index < 1 ||
      slice.count < slice.index) {
    throw std::runtime_error("--slice '" + word + "' is no part of a whole, such as 3/8");
  }
  return slice;
}

std::string folder_of(const Campaign& campaign, const CampaignOrder& order) {
  return order.output.empty() ? "results/" + campaign.name : order.output;
}

std::string records_file(const std::string& folder) {
  return folder + "/records.jsonl";
}

std::string part_file(const std::string& folder, const CampaignOrder& order) {
  if (order.devices) return fmt::format("{}/records.devices-{}.jsonl", folder, *order.devices);
  return fmt::format("{}/records.slice-{}-of-{}.jsonl", folder, order.slice->index,
                     order.slice->count);
}

std::string failures_file(const std::string& folder) {
  return folder + "/failures.jsonl";
}

std::string point_name(const Campaign& campaign, std::size_t index) {
  const Question& question = campaign.questions[index];
  std::string text = fmt::format("{} {} {}{}", machine_name(question.platform), question.devices,
                                 question.model.name,
                                 question.system ? ' ' + question.system->name : std::string());
  if (campaign.tags.empty()) return text;
  const PointTag& tag = campaign.tags[index];
  if (!tag.label.empty()) text += ", " + tag.label;
  if (tag.repetition > 1) {
    const auto seed = static_cast<std::uint64_t>(tag.repetition);
    text += fmt::format(", seed {}", campaign.is_measured() ? seed : question.what_ifs.seed);
  }
  return text;
}

Answered answered_by(const Campaign& campaign, const std::vector<Record>& records,
                     const Builds& builds) {
  std::map<std::string, const Record*> by_key;
  for (const Record& record : records) by_key[record.key] = &record;
  const auto with_key = [&](const std::string& key) -> const Record* {
    const auto found = by_key.find(key);
    return found == by_key.end() ? nullptr : found->second;
  };
  Answered answered;
  std::set<std::string> twin_keys;
  const Rung rung = campaign.is_measured() ? Rung::measured : Rung::projected;
  for (std::size_t i = 0; i < campaign.questions.size(); ++i) {
    answered.keys.push_back(key_of(campaign, i, rung, builds));
    const Record* twin = nullptr;
    std::string no_twin;
    if (campaign.is_measured()) {
      const Question& question = campaign.questions[i];
      no_twin = twin_refusal(question);
      const bool calibrated = is_calibrated(question.platform);
      const std::string key = calibrated ? key_of(campaign, i, Rung::projected, builds) : "";
      twin = with_key(key);
      if (no_twin.empty() && twin == nullptr) {
        no_twin = "not simulated yet";
        if (!calibrated || twin_keys.insert(key).second) answered.missing_twins.push_back(i);
      }
    }
    const Record* record = with_key(answered.keys.back());
    if (record == nullptr) {
      answered.missing.push_back(i);
      continue;
    }
    answered.records.push_back(*record);
    answered.given.push_back(campaign.questions[i].grid.has_value());
    answered.no_twin.push_back(no_twin);
    answered.twins.push_back(twin == nullptr ? std::nullopt : std::optional(*twin));
    if (!campaign.tags.empty()) answered.tags.push_back(campaign.tags[i]);
  }
  return answered;
}

Study study_of(const Campaign& campaign, const Answered& answered) {
  Study study = make_study(campaign, answered.records, answered.tags);
  for (std::size_t i = 0; i < study.rows.size(); ++i) study.rows[i].given = answered.given[i];
  if (!campaign.is_measured()) return study;
  std::map<std::pair<std::string, std::string>, std::optional<double>> references;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    StudyRow& row = study.rows[i];
    row.twin = answered.twins[i];
    row.no_twin = answered.no_twin[i];
    if (!row.record.measured) continue;
    const std::pair machines(row.record.point.platform, row.record.measured->cpu);
    const auto [known, is_new] = references.try_emplace(machines);
    if (is_new) known->second = calibrated_reference(machines.first, machines.second);
    if (known->second) row.speed = *known->second / row.record.measured->reference_s;
  }
  return study;
}

namespace {

std::string unfit_text(const Study& study) {
  std::string text;
  for (const UnfitPoint& point : study.unfit) {
    text += hanging(fmt::format("- {}: {}.", point.name, point.why), 2);
  }
  return text.empty() ? "" : "Without an answer, as nothing fits:\n" + text + '\n';
}

}  // namespace

std::string text_of(const Study& study, Width width) {
  if (study.rows.empty()) return study.title + "\n\n" + unfit_text(study);
  if (is_measured(study)) return measured_text(study, width);
  const bool of_systems = compares_systems(study);
  const bool swept =
      std::ranges::any_of(study.rows, [](const StudyRow& row) { return !row.label.empty(); });
  return study_table(study, width) + (of_systems ? "" : "\n") + unfit_text(study) +
         run_table(study) + sweep_table(study) + ranks_text(study) +
         (of_systems || swept ? "" : sensitivities(study));
}

std::vector<std::string> figures_of(const Campaign& campaign, const Study& study) {
  if (!campaign.figures.empty()) return campaign.figures;
  if (is_measured(study)) return {"strong"};
  if (compares_systems(study)) return {"systems"};
  return {"pflops", "time"};
}

int run_campaign(const CampaignOrder& order) {
  std::optional<MemorisationStudy> study;
  read_toml_file(order.file, [&](const nlohmann::json& file, const TomlLines&) {
    if (is_memorisation(file)) study = read_memorisation(file, order.file);
  });
  if (study) return run_memorisation(*study, order);
  return run_campaign(campaign_of(order), order);
}

int run_campaign(const Campaign& campaign, const CampaignOrder& order) {
  if (!campaign.published.empty()) read_published(campaign.published);  // refuse it before the work
  refuse_idle(campaign, order);
  const std::string folder = folder_of(campaign, order);
  const std::string records = order.is_part() ? part_file(folder, order) : records_file(folder);
  Store store(records, order.opening);
  if (!store.remark().empty()) say_line(store.remark());
  calibrate_here(campaign, order);
  std::vector<Record> known = store.records();
  if (order.is_part()) {
    for (Record& record : read_records(records_file(folder))) known.push_back(record);
  }
  const CampaignPlan plan = plan_of(campaign, known, order);
  const auto twins = std::ranges::count(
      plan.open, campaign.is_measured() ? Rung::projected : Rung::measured, &OpenPoint::rung);
  say_line(
      fmt::format("{}: {}, {} kept from {}, {} to run{}{}", campaign.title,
                  counted(static_cast<std::int64_t>(campaign.questions.size()), "point"), plan.kept,
                  records, std::ssize(plan.open) - twins, order.is_part() ? " in this part" : "",
                  twins > 0 ? fmt::format(", and {} to simulate", counted(twins, "twin")) : ""));
  print_notices_of_machines(campaign);
  std::vector<FailedPoint> failures;
  try {
    failures = answer_points(plan.open, campaign, store,
                             {folder, failures_file(folder), order.launch, order.retries});
  } catch (const Interrupted&) {
    say_line(fmt::format(
        "interrupted: {} of {} points are kept in {}; the same command goes on from "
        "there",
        plan_of(campaign, store.records(), {}).kept, campaign.questions.size(), records));
    throw;
  }
  const Written written =
      order.is_part() ? Written::whole : write_results(campaign, store, folder, order);
  const auto say_all = [&](bool no, const std::string& of) {
    const auto count = std::ranges::count(failures, no, &FailedPoint::is_no);
    if (count > 0) say_line(counted(count, "point") + of);
    for (const FailedPoint& failure : failures) {
      if (failure.is_no == no) say_line("  " + failure.sentence);
    }
  };
  say_all(true, " cannot be answered, as nothing fits; the tables say so:");
  say_all(false, " failed and will be tried again by the same command:");
  if (written == Written::in_part) return status_could_not;
  if (failures.empty()) return plan.no > 0 ? status_no : status_done;
  return std::ranges::all_of(failures, &FailedPoint::is_no) ? status_no : status_could_not;
}

}  // namespace fourfold::inline scaling::inline study
