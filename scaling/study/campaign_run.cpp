// From questions to records to tables; see campaign_run.hpp.
#include "scaling/study/campaign_run.hpp"

#include <fmt/format.h>

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

std::string label(const Question& question) {
  return fmt::format("{} {} {}{}", machine_name(question.platform), question.devices,
                     question.model.name,
                     question.system ? ' ' + question.system->name : std::string());
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

// What is to be run, and how many records were found for the rest.
struct Plan {
  std::vector<const Question*> open;
  std::size_t kept = 0;
};

Plan plan_of(const Campaign& campaign, const Store& store) {
  Plan plan;
  for (const Question& question : campaign.questions) {
    if (store.with_key(record_key(question, campaign.fidelity, campaign.rule)) != nullptr) {
      ++plan.kept;
    } else {
      plan.open.push_back(&question);
    }
  }
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

// Runs what is open. Returns the sentences of points that failed.
std::vector<std::string> answer_all(const Plan& plan, const Campaign& campaign, Store& store) {
  double work = 0.0;
  for (const Question* question : plan.open) work += weight(*question);
  Progress progress(static_cast<std::int64_t>(plan.open.size()), work);
  std::vector<std::string> failures;
  for (const Question* question : plan.open) {
    progress.begin(label(*question), weight(*question));
    const std::size_t records_before = store.records().size();
    try {
      answer(*question, campaign, progress, store);
    } catch (const std::invalid_argument& error) {
      failures.push_back(label(*question) + ": " + error.what());
    } catch (const FindingFailed& error) {
      failures.push_back(label(*question) + ": " + error.what());
    }
    if (store.records().size() == records_before) progress.finish("failed");
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
  std::vector<Record> answers;
  for (const Question& question : campaign.questions) {
    const Record* record = store.with_key(record_key(question, campaign.fidelity, campaign.rule));
    if (record != nullptr) answers.push_back(*record);
  }
  if (answers.empty()) return;
  const Study study = make_study(campaign, answers);
  const bool of_systems = compares_systems(study);
  const std::string after = of_systems ? "" : '\n' + sensitivities(study);
  std::string lines;
  for (const Record& record : answers) lines += to_json(record) + '\n';
  write_whole_file(folder + "/table.txt", study_table(study, Width::whole) + after);
  print(order.answers == Answers::json ? lines : study_table(study, order.width) + after);
  write_whole_file(folder + "/summary.csv", study_csv(study));
  remark(of_systems ? draw_systems(folder, study.title)
                    : draw_plots(folder, machines(study), study.published_source));
}

}  // namespace

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
  const std::string folder = order.output.empty() ? "results/" + campaign.name : order.output;
  const std::string records = folder + "/records.jsonl";
  Store store(records, order.opening);
  if (!store.remark().empty()) remark(store.remark());

  const Plan plan = plan_of(campaign, store);
  remark(fmt::format("{}: {}, {} kept from {}, {} to run", campaign.title,
                     counted(static_cast<std::int64_t>(campaign.questions.size()), "point"),
                     plan.kept, records, plan.open.size()));
  print_notices_of_machines(campaign);
  std::vector<std::string> failures;
  try {
    failures = answer_all(plan, campaign, store);
  } catch (const Interrupted&) {
    remark(
        fmt::format("interrupted: {} of {} points are kept in {}; the same command goes on from "
                    "there",
                    plan_of(campaign, store).kept, campaign.questions.size(), records));
    throw;
  }
  write_results(campaign, store, folder, order);
  for (const std::string& failure : failures) remark(failure);
  return failures.empty() ? status_done : status_could_not;
}

}  // namespace fourfold
