// Campaigns in parts: which points a job answers, what was published of them, what stands in
// JSON of a search over strategies, how models grow, and which runs count as alike.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "scaling/bars/residuals.hpp"
#include "scaling/records/record.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/campaign_views.hpp"
#include "scaling/study/failure_log.hpp"
#include "scaling/study/published.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/text/strategy_results.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

std::string campaign_of(const std::string& head, const std::vector<std::string>& points) {
  std::string text = "title = \"Parts\"\nfidelity = \"estimated\"\nbatch_tokens = 65_536\n" + head +
                     "[[machine]]\nplatform = \"" + path_of_machine("crossbar") +
                     "\"\npoints = [\n";
  for (const std::string& point : points) text += "  { " + point + " },\n";
  return text + "]\n";
}

std::set<std::string> keys_in(const std::string& path) {
  std::set<std::string> keys;
  for (const Record& record : read_records(path)) keys.insert(record.key);
  return keys;
}

// Runs it and drops what it says.
int run_quietly(const CampaignOrder& order) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int status = run_campaign(order);
  ::testing::internal::GetCapturedStdout();
  ::testing::internal::GetCapturedStderr();
  return status;
}

class CampaignParts : public ::testing::Test {
 protected:
  CampaignParts() {
    const std::vector<std::string> all{"devices = 1, model = \"gpt2-mini\", grid = \"1x1x1x1\"",
                                       "devices = 2, model = \"gpt2-mini\", grid = \"1x1x1x2\"",
                                       "devices = 4, model = \"gpt2-mini\", grid = \"1x1x1x4\"",
                                       "devices = 2, model = \"gpt2-mini\", grid = \"1x2x1x1\"",
                                       "devices = 4, model = \"gpt2-mini\", grid = \"1x2x1x2\""};
    write_content(folder.file("c.toml"), campaign_of("", all));
    order.file = folder.file("c.toml");
    order.output = folder.file("out");
    campaign = read_campaign(order.file);
    for (std::size_t i = 0; i < all.size(); ++i) {
      keys.push_back(key_of(campaign, i, Rung::projected));
    }
  }

  TemporaryFolder folder;
  CampaignOrder order;
  Campaign campaign;
  std::vector<std::string> keys;
};

TEST_F(CampaignParts, OfASliceAreEveryThirdPointFromItsNumberOn) {
  for (std::int64_t index = 1; index <= 3; ++index) {
    order.slice = CampaignSlice{index, 3};
    EXPECT_EQ(run_quietly(order), 0);
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (static_cast<std::int64_t>(i) % 3 == index - 1) expected.push_back(keys[i]);
    }
    EXPECT_THAT(keys_in(part_file(order.output, order)), UnorderedElementsAreArray(expected));
    EXPECT_FALSE(std::filesystem::exists(order.output + "/table.txt"));
  }
  order.slice.reset();
  EXPECT_EQ(collect_campaign(order),
            "5 records from 3 parts came into " + order.output + "/records.jsonl\n");
  EXPECT_EQ(collect_campaign(order),
            "0 records from 3 parts came into " + order.output + "/records.jsonl\n");
  EXPECT_THAT(keys_in(records_file(order.output)), UnorderedElementsAreArray(keys));
  EXPECT_TRUE(campaign_status(order).complete);
  // What is there is not answered again.
  order.slice = CampaignSlice{1, 1};
  EXPECT_EQ(run_quietly(order), 0);
  EXPECT_THAT(keys_in(part_file(order.output, order)), ::testing::IsEmpty());
}

TEST_F(CampaignParts, OfDevicesAreThePointsOnSoMany) {
  order.devices = 4;
  EXPECT_EQ(run_quietly(order), 0);
  EXPECT_THAT(keys_in(part_file(order.output, order)),
              UnorderedElementsAreArray({keys[2], keys[4]}));
  order.devices.reset();
  EXPECT_EQ(collect_campaign(order),
            "2 records from 1 part came into " + order.output + "/records.jsonl\n");
  const Status status = campaign_status(order);
  EXPECT_FALSE(status.complete);
  EXPECT_THAT(status.text, HasSubstr(": 2 of 5 points answered, 0 failed, 3 not run yet\n"));
  log_failure(failures_file(order.output), keys[0], "it was too hard");
  log_failure(failures_file(order.output), keys[2], "it has an answer by now");
  EXPECT_THAT(campaign_status(order).text,
              HasSubstr(": 2 of 5 points answered, 1 failed, 2 not run yet\n"
                        "  crossbar 1 gpt2-mini: failed: it was too hard\n"
                        "  crossbar 2 gpt2-mini: not run yet\n"));
}

TEST_F(CampaignParts, AreRefusedWithoutAFolder) {
  EXPECT_THAT(refusal<std::runtime_error>([&] { collect_campaign(order); }),
              HasSubstr(" is no folder; --output names the one"));
  EXPECT_THAT(refusal<std::runtime_error>([&] { campaign_table(order); }),
              HasSubstr("has no record of this campaign as it is now"));
}

// A sweep goes, and then all that fits: what cannot be drawn goes with it.
TEST(Answers, OfACampaignBeforeAnEditAreNotShownAsThoseOfNow) {
  const TemporaryFolder folder;
  CampaignOrder order;
  order.file = folder.file("c.toml");
  order.output = folder.file("out");
  const auto is_there = [&](const std::string& name) {
    return std::filesystem::exists(order.output + '/' + name);
  };
  const std::string figures = "figures = [\"lines\", \"time\"]\n", mine = "/pflops.svg";
  const std::string sweep = "[[sweep]]\nkey = \"options.zero\"\nvalues = [0, 1]\n";
  const std::string fits = "devices = 2, model = \"gpt2-mini\"";
  write_content(order.file, campaign_of(figures + sweep, {fits}));
  EXPECT_EQ(run_quietly(order), 0);
  EXPECT_TRUE(is_there("lines.svg"));
  write_content(order.output + mine, "mine");
  campaign_report(order);
  EXPECT_EQ(run_quietly(order), 0);
  EXPECT_TRUE(is_there("report.html"));
  write_content(order.file, campaign_of("figures = [\"time\"]\n", {fits}));
  campaign_plot(order, "");
  EXPECT_FALSE(is_there("report.html") || is_there("lines.svg") || is_there("lines.csv"));
  EXPECT_THAT(content_of(order.output + "/table.txt"), ::testing::Not(HasSubstr("zero = 1")));
  write_content(order.file, campaign_of(figures, {fits}));
  EXPECT_THAT(campaign_preview(order, "").said, HasSubstr("nothing to draw for lines: "));
  EXPECT_EQ(run_quietly(order), 0);
  EXPECT_FALSE(is_there("lines.svg") || is_there("lines.csv"));
  EXPECT_TRUE(is_there("time.svg"));
  write_content(order.file, campaign_of("", {"devices = 1, model = \"gpt-80b\""}));
  EXPECT_EQ(run_quietly(order), 1);
  EXPECT_FALSE(is_there("summary.csv") || is_there("time.svg"));
  EXPECT_THAT(content_of(order.output + "/table.txt"), HasSubstr("crossbar 1 gpt-80b: "));
  EXPECT_EQ(content_of(order.output + mine), "mine");
}

TEST(Ties, AreLeadsBelowTheBar) {
  const ErrorBar bar{-0.1, 0.2, "", 1, 4, 0, 0, {}, 0.05, 3};
  EXPECT_TRUE(ties(bar, {1.0}, {1.0499}));
  EXPECT_FALSE(ties(bar, {1.0}, {1.0501}));
  EXPECT_FALSE(ties(std::nullopt, {1.0}, {1.0}));
}

TEST(PublishedRows, AreOfTheirOwnPointAlone) {
  const TemporaryFolder folder;
  write_content(folder.file("p.csv"),
                "# source: a paper\n# a remark\n\nmachine,devices,model,batch_s,pflops,label\n"
                "m,8,a,2.5,,slow\nm,8,a,,3.5,fast\nm,16,a,4,5,\nn,8,a,6,,\nm,8,b,7,,\n"
                "m,8,b,1,,slow; z = 3\nn,8,a,2,,slow\n");
  const Published published = read_published(folder.file("p.csv"));
  EXPECT_EQ(published.source, "a paper");
  ASSERT_EQ(published.rows.size(), 7u);
  EXPECT_EQ(published.row("m", "a", 8, "slow")->seconds, std::optional(Seconds{2.5}));
  EXPECT_EQ(published.row("m", "a", 8, "fast")->rate, std::optional(FlopsPerSecond{3.5e15}));
  EXPECT_EQ(published.row("m", "a", 8), nullptr);
  EXPECT_EQ(published.row("m", "a", 8, "other"), nullptr);
  EXPECT_EQ(published.row("m", "a", 16, "any label")->seconds, std::optional(Seconds{4.0}));
  EXPECT_EQ(published.row("n", "a", 8)->seconds, std::optional(Seconds{6.0}));
  EXPECT_EQ(published.row("n", "a", 8, "slow")->seconds, std::optional(Seconds{2.0}));
  EXPECT_EQ(published.row("m", "b", 8, "slow, z = 3")->seconds, std::optional(Seconds{1.0}));
  EXPECT_EQ(published.row("m", "b", 8)->seconds, std::optional(Seconds{7.0}));
  EXPECT_EQ(published.row("n", "b", 8), nullptr);
  EXPECT_EQ(published.rows[0].words(), "a on 8 devices of m, slow");
  EXPECT_EQ(published.rows[4].words(), "b on 8 devices of m");
}

// Of all whole layers, and of all whole heads, none comes nearer.
TEST(GrownModels, ComeAsNearAsWholeLayersAndHeadsDo) {
  for (const char* name : {"gpt2-mini", "gpt-5b"}) {
    const Model base = read_model(name);
    for (const double factor : {0.5, 0.8, 1.5, 2.0, 3.3, 8.0}) {
      const double wanted = factor * parameter_count(base);
      const auto off = [&](const Model& model) {
        return std::abs(parameter_count(model) - wanted);
      };
      const Model deep = grown(base, factor, Growth::layers);
      EXPECT_EQ(deep.hidden, base.hidden);
      EXPECT_EQ(deep.heads, base.heads);
      const Model wide = grown(base, factor, Growth::width);
      EXPECT_EQ(wide.layers, base.layers);
      EXPECT_EQ(wide.hidden * base.heads, base.hidden * wide.heads) << name << " x " << factor;
      for (const std::int64_t one : {-1, 1}) {
        Model other = deep;
        other.layers += one;
        EXPECT_TRUE(other.layers == 0 || off(other) >= off(deep) * (1 - 1e-12)) << name << factor;
        other = wide;
        other.heads += one;
        other.hidden += one * base.hidden / base.heads;
        EXPECT_TRUE(other.heads == 0 || off(other) >= off(wide) * (1 - 1e-12)) << name << factor;
      }
      EXPECT_EQ(deep.name, fmt::format("{}-x{:g}", base.name, factor));
    }
  }
  Model odd = read_model("gpt2-mini");
  odd.heads = 12;
  odd.hidden = 12 * 40;
  EXPECT_EQ(grown(odd, 4.0, Growth::width).hidden % 40, 0);
}

TEST(Likenesses, AreByCutsOfWeightsAndByStages) {
  const Platform platform = read_platform("perlmutter");
  for (const std::int64_t z : {1, 2}) {
    for (const std::int64_t stages : {1, 2}) {
      for (std::int64_t zero = 0; zero <= 3; ++zero) {
        StepOptions options;
        options.zero = zero;
        const Likeness like = likeness(ProcessGrid(2, 1, z, 4, stages), options, platform);
        const Parallelism expected = stages > 1           ? Parallelism::pipelined
                                     : z > 1 || zero == 3 ? Parallelism::sharded
                                                          : Parallelism::whole;
        EXPECT_EQ(like.parallelism, expected) << z << stages << zero;
      }
    }
  }
}

Strategy strategy_of(int place) {
  Strategy one;
  one.grid = ProcessGrid(2, 1, 1, 4, 1 + place);
  one.options.micro_batches = 2;
  one.global_batch = 48 * (1 + place);
  one.words = {std::to_string(place), "full"};
  one.seconds = {2.0 + 0.5 * place};
  one.memory = {20e9 + place};
  one.rate = {1e14 - 1e12 * place};
  one.alike = 3 + place;
  return one;
}

TEST(Strategies, HaveJsonThatSaysWhatWasFound) {
  StrategyFinding finding;
  finding.question.title = "A space";
  finding.question.pattern.platform = "made-up";
  finding.question.pattern.model = {"small", 4, 1024, 8, 512, 4096};
  finding.platform.processor.advertised_peak = {2.5e14};
  finding.answer.factors = {{"zero", {"0", "1"}}, {"recompute", {"full", "none", "selective"}}};
  finding.answer.best = {strategy_of(0), strategy_of(1)};
  finding.answer.strategies = 500;
  finding.answer.refused = {{"heads", 11, "8 heads do not divide by 3"}, {"layers", 12, "too few"}};
  finding.answer.beaten = 123;
  finding.answer.feasible = 77;
  finding.answer.out_of_memory = 9;
  finding.answer.memory_limit = {17.5e9};
  const nlohmann::json without = nlohmann::json::parse(to_json(finding));
  for (const char* key : {"closest_miss", "error_bar", "influence"}) {
    EXPECT_TRUE(without.value(key, nlohmann::json()).is_null()) << key;
  }
  finding.answer.closest = strategy_of(2);
  finding.bar = ErrorBar{-0.1, 0.2, "of all", 12, 4, -0.3, 0.4, {}, 0.042, 40};
  const double none = std::numeric_limits<double>::quiet_NaN();
  finding.influences =
      Influences{finding.answer.factors,
                 {4e13, 1e26, {0.25, 0.75}, {0.125, 0.3}, {{5e13, 3e13}, {1e13, none, 4e13}}},
                 {6e13, 4e25, {0.6, 0.4}, {0.05, 0.55}, {{7e13, 8e13}, {none, none, 9e13}}}};

  const nlohmann::json json = nlohmann::json::parse(to_json(finding));

  ASSERT_EQ(json["best"].size(), 2u);
  for (const auto& [place, value] : std::vector<std::pair<const char*, nlohmann::json>>{
           {"/title", "A space"},
           {"/platform", "made-up"},
           {"/strategies", 500},
           {"/estimated", 77},
           {"/beaten", 123},
           {"/out_of_memory", 9},
           {"/memory_limit_B", 17.5e9},
           {"/refused/heads/strategies", 11},
           {"/refused/heads/example", "8 heads do not divide by 3"},
           {"/refused/layers/strategies", 12},
           {"/space/0/choice", "zero"},
           {"/space/0/words", {"0", "1"}},
           {"/best/0/grid", "2x1x1x4"},
           {"/best/0/devices", 8},
           {"/best/0/alike", 3},
           {"/best/0/choices/zero", "0"},
           {"/best/0/choices/recompute", "full"},
           {"/best/0/estimated_s", 2.0},
           {"/best/0/flop_per_s_per_device", 1e14},
           {"/best/0/memory_B", 20e9},
           {"/best/0/global_batch_sequences", 48},
           {"/best/0/micro_batches", 2},
           {"/best/0/micro_batch_sequences", 48 / 4 / 2},
           {"/best/0/throughput/tokens_per_s", 48 * 512 / 2.0},
           {"/best/0/throughput/tokens_per_s_per_device", 48 * 512 / 2.0 / 8},
           {"/best/1/grid", "x=2,data=4,pipe=2"},
           {"/best/1/estimated_s", 2.5},
           {"/closest_miss/grid", "x=2,data=4,pipe=3"},
           {"/closest_miss/estimated_s", 3.0},
           {"/error_bar/low_s", 1.8},
           {"/error_bar/high_s", 2.4},
           {"/error_bar/tie_below", 0.042},
           {"/influence/out_of_memory_is_0/mean_flop_per_s_per_device", 4e13},
           {"/influence/out_of_memory_is_0/variance", 1e26},
           {"/influence/out_of_memory_is_0/choices/zero/share", 0.25},
           {"/influence/out_of_memory_is_0/choices/recompute/alone", 0.3},
           {"/influence/feasible/choices/recompute/share", 0.4},
           {"/influence/feasible/choices/zero/mean_flop_per_s_per_device", {7e13, 8e13}}}) {
    const nlohmann::json::json_pointer pointer(place);
    ASSERT_TRUE(json.contains(pointer)) << place;
    EXPECT_EQ(json[pointer], value) << place;
  }
  EXPECT_TRUE(json["influence"]["feasible"]["choices"]["recompute"]["mean_flop_per_s_per_device"][0]
                  .is_null());
  EXPECT_EQ(influence_csv(*finding.influences),
            "choice,entries,share,alone,share_feasible,alone_feasible\n"
            "recompute,3,0.750000,0.300000,0.400000,0.550000\n"
            "zero,2,0.250000,0.125000,0.600000,0.050000\n");
}

}  // namespace
}  // namespace fourfold::tests
