// Whole campaigns and verbs: what is printed, kept, run again and how it ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scaling/bars/sensitivity.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/text/collective_table.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "sim/question/point_json.hpp"
#include "support/prose.hpp"
#include "tests/scaling/printed.hpp"
#include "tests/scaling/said_entries.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two points of one machine, and one that nothing fits.
constexpr const char* campaign_text = R"(
title = "Two and a half"
fidelity = "estimated"
batch_tokens = 131_072
[[machine]]
platform = "perlmutter"
points = [{ devices = 16, model = "gpt-5b" }, { devices = 32, model = "gpt-5b" }]
[[machine]]
platform = "frontier"
points = [{ devices = 1, model = "gpt-640b" }]
)";

struct Ran {
  int status = -1;
  std::string output, complaint;
};

Ran run(const CampaignOrder& order) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran ran;
  ran.status = run_campaign(order);
  ran.output = ::testing::internal::GetCapturedStdout();
  ran.complaint = ::testing::internal::GetCapturedStderr();
  return ran;
}

// Those that stand in the file of a run.
std::vector<Record> records_of(const CampaignOrder& order) {
  return read_records(records_file(order.output));
}

// A campaign in a folder of its own, without the machine that nothing fits where it is not wanted.
struct OneCampaign {
  explicit OneCampaign(std::string text, bool whole = true) {
    if (!whole) text.erase(text.find("[[machine]]\nplatform = \"frontier\""));
    write_content(folder.file("mine.toml"), text);
    order.file = folder.file("mine.toml");
    order.output = folder.file("out");
  }

  TemporaryFolder folder;
  CampaignOrder order;
};

TEST(CampaignRun, AnswersWhatItCanAndEndsInNoWhereNothingFitsAPoint) {
  OneCampaign one(campaign_text);
  const TemporaryFolder& folder = one.folder;
  CampaignOrder& order = one.order;

  const Ran first = run(order);
  const std::string records = content_of(folder.file("out/records.jsonl"));
  const Ran again = run(order);
  order.answers = Answers::json;
  const Ran json = run(order);

  EXPECT_EQ(first.status, 1);
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(first.complaint, HasSubstr("Two and a half: 3 points, 0 kept from " +
                                         folder.file("out/records.jsonl") + ", 3 to run"));
  EXPECT_THAT(first.complaint, HasSubstr("/3] perlmutter 16 gpt-5b: "));
  EXPECT_THAT(first.complaint, HasSubstr("/3] frontier 1 gpt-640b: fits nowhere"));
  EXPECT_THAT(again.complaint, HasSubstr("2 kept from"));
  EXPECT_THAT(again.complaint, HasSubstr("0 to run"));  // what fits nowhere is not asked again
  EXPECT_EQ(again.output, first.output);
  EXPECT_EQ(content_of(folder.file("out/records.jsonl")), records);
  const Campaign campaign = read_campaign(order.file);
  const std::vector<Record> kept = answered_by(campaign, records_of(order)).records;
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(json.output, to_json(kept[0]) + '\n' + to_json(kept[1]) + '\n');
  Study study = make_study(campaign, kept);
  study.unfit = unfit_points(campaign, answered_by(campaign, records_of(order)), order.output);
  ASSERT_EQ(study.unfit.size(), 1U);
  const std::string unfit = study.unfit[0].name + ": " + study.unfit[0].why;
  EXPECT_THAT(unfit, StartsWith("frontier 1 gpt-640b: gpt-640b fits no grid"));
  const std::string after =
      "\nWithout an answer, as nothing fits:\n" + hanging("- " + unfit + ".", 2) +
      "\nWhat half and double of unconfirmed platform numbers would give, estimated, at each\n"
      "machine's largest model on most devices:\n\n" +
      sensitivity_table(sensitivity(kept[1].point)) + '\n';
  EXPECT_EQ(first.output, study_table(study) + after);
  EXPECT_EQ(content_of(folder.file("out/table.txt")), study_table(study, Width::whole) + after);
  EXPECT_EQ(content_of(folder.file("out/summary.csv")), study_csv(study));
}

TEST(CampaignRun, EndsInFailureWhereAPointCouldNotBeAnswered) {
  EXPECT_EQ(run(OneCampaign(std::string(campaign_text) +
                            "[[machine]]\nplatform = \"frontier\"\npoints = "
                            "[{ devices = 8, model = \"gpt-5b\", grid = \"5x1x1x1\" }]\n")
                    .order)
                .status,
            2);
}

TEST(CampaignRun, OfPointsThatAllHaveAnswersIsASuccess) {
  OneCampaign one(campaign_text, false);

  EXPECT_EQ(run(one.order).status, 0);
  one.order.opening = Opening::fresh;
  EXPECT_THAT(run(one.order).complaint, HasSubstr("0 kept"));
  EXPECT_EQ(records_of(one.order).size(), 2U);
}

TEST(CampaignRun, SimulatedHasBothRecordsOfAPoint) {
  std::string text = campaign_text;
  const std::string second = ", { devices = 32, model = \"gpt-5b\" }";
  text.replace(text.find(second), second.size(), "");
  text.insert(text.find("[[machine]]"), "[simulate]\nat_least_grids = 1\nat_most_grids = 1\n");
  OneCampaign one(text, false);
  one.order.fidelity = Fidelity::simulated;

  EXPECT_EQ(run(one.order).status, 0);

  const std::vector<Record> kept = records_of(one.order);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].fidelity, Fidelity::estimated);
  EXPECT_EQ(kept[1].fidelity, Fidelity::simulated);
  EXPECT_EQ(kept[0].point.grid, kept[1].point.grid);
  EXPECT_NE(kept[0].key, kept[1].key);
  EXPECT_EQ(kept[1].estimated, kept[0].seconds());
  EXPECT_EQ(kept[1].simulated.size(), 1U);
  EXPECT_THAT(run(one.order).complaint, HasSubstr("1 kept"));
}

TEST(Verbs, ListModelsAndMachinesInNumbers) {
  const nlohmann::json models = nlohmann::json::parse(printed_by("models --json").text);
  const std::string table = printed_by("models").text;
  const nlohmann::json machines = nlohmann::json::parse(printed_by("platforms --json").text);

  ASSERT_EQ(models.size(), known_models().size());
  for (const nlohmann::json& one : models) {
    const Model model = read_model(one.at("name"));
    expect_says(one, {{"layers", model.layers},
                      {"hidden", model.hidden},
                      {"heads", model.heads},
                      {"sequence_tokens", model.sequence},
                      {"vocabulary", model.vocabulary}});
    EXPECT_NEAR(one.at("parameters").get<double>(), parameter_count(model), 0.5);
    EXPECT_THAT(table, ContainsRegex(fmt::format("\n{} +{} +{} +{} +{} +{} ", model.name,
                                                 model.layers, model.hidden, model.heads,
                                                 model.sequence, model.vocabulary)));
  }
  ASSERT_EQ(machines.size(), known_platforms().size());
  for (const nlohmann::json& one : machines) {
    const Platform platform = read_platform(one.at("name"));
    const Processor& device = platform.processor;
    expect_says(one, {{"title", platform.title},
                      {"nodes", platform.nodes},
                      {"devices", platform.devices()},
                      {"network", kind_in_words(platform.network)},
                      {"advertised_peak_flop_per_s_per_device", device.advertised_peak.value},
                      {"empirical_peak_flop_per_s_per_device", device.empirical_peak.value},
                      {"memory_B_per_device", device.memory.value}});
  }
  const std::string text = printed_by("models").text;
  EXPECT_LT(text.find("gpt-bytes"), text.find("gpt2-124m"));  // by size
  EXPECT_LT(text.find("gpt2-124m"), text.find("gpt-1t "));
  EXPECT_THAT(text, AllOf(HasSubstr("million"), HasSubstr("billion")));
}

TEST(Verbs, CollectivesAreOfTheGroupThatWasAskedFor) {
  EXPECT_EQ(printed_by("collectives --platform alps --devices 8 --stride 4 --json").text,
            collective_json(collective_table(read_platform("alps"), 8, 4)));
}

// Whatever verbs add to a record, what they print is one.
TEST(Verbs, WhatTheyPrintAsJsonIsARecord) {
  for (const char* verb : {"project", "search"}) {
    for (const char* more :
         {"", " --tokens 2T --zero 0 --scale processor.memory_bandwidth_GBps=0.5"}) {
      const Printed answer =
          printed_by(std::string(verb) +
                     " --platform alps --model gpt-5b --devices 16 --batch-tokens 262144 "
                     "--fidelity estimated --json" +
                     more);
      ASSERT_EQ(answer.status, 0) << verb << more;
      EXPECT_EQ(record_from_json(answer.text).devices(), 16) << verb << more;
    }
  }
}

TEST(Verbs, ShowPrintsTheStepOfItsOptions) {
  const nlohmann::json shown = nlohmann::json::parse(
      printed_by("show --model gpt2-mini --recompute none --overlap none --json").text);

  EXPECT_EQ(shown.at("options").at("recompute"), "none");
  EXPECT_EQ(shown.at("options").at("overlap").at("all_gather"), false);
  EXPECT_EQ(shown.at("model").at("name"), "gpt2-mini");
  const std::string text =
      printed_by("show --model gpt2-mini --recompute none --overlap none").text;
  std::size_t sections = 0;
  for (std::size_t at = 0; (at = text.find("\n== ", at)) != std::string::npos; ++at) ++sections;
  EXPECT_EQ(shown.at("sections").size(), sections);
  std::size_t operations = 0;
  for (const nlohmann::json& section : shown.at("sections")) {
    operations += section.at("operations").size();
    for (const nlohmann::json& operation : section.at("operations")) {
      EXPECT_THAT(text, HasSubstr(operation.get<std::string>() + "\n"));
    }
  }
  EXPECT_GT(operations, 50U);
}

}  // namespace
}  // namespace fourfold::tests
