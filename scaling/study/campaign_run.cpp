// From questions to records to tables; see campaign_run.hpp.
#include "scaling/study/campaign_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "scaling/cli/output.hpp"
#include "scaling/find/finding.hpp"
#include "scaling/find/sensitivity.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/failure_log.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/memorisation_run.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/study/record_json.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/system_table.hpp"
#include "scaling/study/toml_file.hpp"
#include "support/exit_status.hpp"
#include "support/prose.hpp"
#include "support/whole_file.hpp"

namespace fourfold {
namespace {

void remark(const std::string& sentence) {
  say(fmt::format("{}\n", sentence));
}

// Relative work of a point: a simulation walks all devices through all layers, and the search of a
// point costs about as much as a simulation on a few thousand devices.
double weight(const Question& question) {
  constexpr double search = 100'000.0;
  return search +
         static_cast<double>(question.devices) * static_cast<double>(question.model.layers);
}

void print_notices_of_machines(const Campaign& campaign) {
  std::set<std::string> said;
  for (const Question& question : campaign.questions) {
    if (!said.insert(question.platform).second) continue;
    print_notices(read_platform(question.platform, question.scales, question.software));
  }
}

// What is to be run: indices of questions; and how many records were found for the rest.
struct Plan {
  std::vector<std::size_t> open;
  std::size_t kept = 0;
};

Plan plan_of(const Campaign& campaign, const std::vector<Record>& records,
             const std::optional<Slice>& slice) {
  Plan plan;
  const Answered answered = answered_by(campaign, records);
  for (std::size_t i : answered.missing) {
    const auto number = static_cast<std::int64_t>(i);
    if (!slice || number % slice->count == slice->index - 1) plan.open.push_back(i);
  }
  plan.kept = answered.records.size();
  return plan;
}

// Both records of a question, the estimated one first.
void answer(const Question& question, const Campaign& campaign, Progress& progress, Store& store) {
  const Finding finding =
      find(question, campaign.fidelity, campaign.rule,
           [&](const std::string& activity, double done) { progress.update(activity, done); });
  std::vector<Fidelity> reached{Fidelity::estimated};
  if (simulates(campaign.fidelity)) reached.push_back(campaign.fidelity);
  for (Fidelity fidelity : reached) {
    if (store.with_key(record_key(question, fidelity, campaign.rule)) != nullptr) continue;
    store.append(make_record(question, finding, fidelity, campaign.rule));
  }
  progress.finish(fmt::format("{:.2f} s per batch on grid {}", finding.outcome().total.value,
                              finding.best().grid.str()));
}

// Runs what is open. Returns the sentences of points that failed, which are logged, too.
std::vector<std::string> answer_all(const Plan& plan, const Campaign& campaign, Store& store,
                                    const std::string& log) {
  double work = 0.0;
  for (std::size_t i : plan.open) work += weight(campaign.questions[i]);
  Progress progress(static_cast<std::int64_t>(plan.open.size()), work);
  std::vector<std::string> failures;
  for (std::size_t i : plan.open) {
    const Question& question = campaign.questions[i];
    progress.begin(point_name(campaign, i), weight(question));
    const auto failed = [&](const std::exception& error) {
      failures.push_back(point_name(campaign, i) + ": " + error.what());
      log_failure(log, record_key(question, campaign.fidelity, campaign.rule), error.what());
      progress.finish("failed");
    };
    try {
      answer(question, campaign, progress, store);
    } catch (const std::invalid_argument& error) {
      failed(error);
    } catch (const FindingFailed& error) {
      failed(error);
    }
  }
  return failures;
}

std::string sensitivities(const Study& study) {
  std::map<std::string, const Record*> largest;
  for (const StudyRow& row : study.rows) {
    const Record*& record = largest[row.machine];
    if (record == nullptr || row.record.devices() > record->devices()) record = &row.record;
  }
  std::string text =
      "What half and double of unconfirmed platform numbers would give, estimated, at each "
      "machine's largest point:\n\n";
  for (const std::string& machine : machines(study)) {
    text += sensitivity_table(sensitivity(largest[machine]->point)) + '\n';
  }
  return text;
}

void write_results(const Campaign& campaign, const Store& store, const std::string& folder,
                   const CampaignOrder& order) {
  const Answered answered = answered_by(campaign, store.records());
  if (answered.records.empty()) return;
  const Study study = make_study(campaign, answered.records, answered.tags);
  std::string lines;
  for (const Record& record : answered.records) lines += to_json(record) + '\n';
  write_whole_file(folder + "/table.txt", text_of(study, Width::whole));
  print(order.answers == Answers::json ? lines : text_of(study, order.width));
  write_whole_file(folder + "/summary.csv", study_csv(study));
  remark(draw_figures(figures_of(campaign, study), study, folder));
}

}  // namespace

Slice slice_in(const std::string& word) {
  Slice slice;
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

std::string records_file(const std::string& folder, const std::optional<Slice>& slice) {
  if (!slice) return folder + "/records.jsonl";
  return fmt::format("{}/records.slice-{}-of-{}.jsonl", folder, slice->index, slice->count);
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
  if (tag.repetition > 1) text += fmt::format(", seed {}", question.what_ifs.seed);
  return text;
}

Answered answered_by(const Campaign& campaign, const std::vector<Record>& records) {
  std::map<std::string, const Record*> by_key;
  for (const Record& record : records) by_key[record.key] = &record;
  Answered answered;
  for (std::size_t i = 0; i < campaign.questions.size(); ++i) {
    answered.keys.push_back(record_key(campaign.questions[i], campaign.fidelity, campaign.rule));
    const auto found = by_key.find(answered.keys.back());
    if (found == by_key.end()) {
      answered.missing.push_back(i);
      continue;
    }
    answered.records.push_back(*found->second);
    if (!campaign.tags.empty()) answered.tags.push_back(campaign.tags[i]);
  }
  return answered;
}

std::string text_of(const Study& study, Width width) {
  const bool of_systems = compares_systems(study);
  const bool swept =
      std::ranges::any_of(study.rows, [](const StudyRow& row) { return !row.label.empty(); });
  return study_table(study, width) + (of_systems ? "" : "\n") + run_table(study) +
         sweep_table(study) + ranks_text(study) + (of_systems || swept ? "" : sensitivities(study));
}

std::vector<std::string> figures_of(const Campaign& campaign, const Study& study) {
  if (!campaign.figures.empty()) return campaign.figures;
  if (compares_systems(study)) return {"systems"};
  return {"pflops", "time"};
}

int run_campaign(const CampaignOrder& order) {
  if (const nlohmann::json file = read_toml(order.file); is_memorisation(file)) {
    return run_memorisation(read_memorisation(file, order.file), order);
  }
  Campaign campaign = read_campaign(order.file, order.grids_by);
  if (order.fidelity) campaign.fidelity = *order.fidelity;
  return run_campaign(campaign, order);
}

int run_campaign(const Campaign& campaign, const CampaignOrder& order) {
  if (!campaign.published.empty()) read_published(campaign.published);  // refuse it before the work
  const std::string folder = folder_of(campaign, order);
  const std::string records = records_file(folder, order.slice);
  Store store(records, order.opening);
  if (!store.remark().empty()) remark(store.remark());
  std::vector<Record> known = store.records();
  if (order.slice) {
    for (Record& record : read_records(records_file(folder, {}))) known.push_back(record);
  }
  const Plan plan = plan_of(campaign, known, order.slice);
  remark(fmt::format("{}: {}, {} kept from {}, {} to run{}", campaign.title,
                     counted(static_cast<std::int64_t>(campaign.questions.size()), "point"),
                     plan.kept, records, plan.open.size(), order.slice ? " in this slice" : ""));
  print_notices_of_machines(campaign);
  std::vector<std::string> failures;
  try {
    failures = answer_all(plan, campaign, store, failures_file(folder));
  } catch (const Interrupted&) {
    remark(fmt::format(
        "interrupted: {} of {} points are kept in {}; the same command goes on from "
        "there",
        plan_of(campaign, store.records(), {}).kept, campaign.questions.size(), records));
    throw;
  }
  if (!order.slice) write_results(campaign, store, folder, order);
  if (!failures.empty()) {
    remark(fmt::format("{} failed and will be tried again by the same command:",
                       counted(static_cast<std::int64_t>(failures.size()), "point")));
  }
  for (const std::string& failure : failures) remark(failure);
  return failures.empty() ? status_done : status_could_not;
}

}  // namespace fourfold
