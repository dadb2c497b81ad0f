// Lists, sweeps and growing models of campaigns, and the lines that errors name.
#include "scaling/study/sweep.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "scaling/study/campaign.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "sim/conditions/what_ifs_json.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// The points that a point and the sweeps of a campaign make, both as JSON.
std::vector<SweptPoint> points_of(const std::string& point, const std::string& sweeps) {
  return swept(json::parse(point), json::parse(sweeps));
}

TEST(Sweeps, MultiplyListsOfAPoint) {
  const auto points = points_of(R"({"devices": [8, 16], "model": ["a", "b"]})", "null");

  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0].entry, json::parse(R"({"devices": 8, "model": "a"})"));
  EXPECT_EQ(points[1].entry, json::parse(R"({"devices": 16, "model": "a"})"));
  EXPECT_EQ(points[3].entry, json::parse(R"({"devices": 16, "model": "b"})"));
  EXPECT_EQ(points[3].label, "");
}

// Of some points of some sweeps: label, line, what is left of it without the last number, value.
TEST(Sweeps, LabelTheirPointsAndNameTheirLines) {
  const char* plain = R"({"devices": 8})";
  for (const auto& [point, sweeps, place, expected] :
       {std::tuple{plain,
                   R"([{"list": [{"label": "a"}, {"label": "b", "value": 2}]},
                       {"key": "options.zero", "values": [0, 1, 2]}])",
                   4, "5: b, zero = 1 | b, zero | b | 1"},
        {plain,
         R"([{"key": "options.zero", "values": [0, 1]},
             {"list": [{"label": "a"}, {"label": "b"}]}])",
         3, "3: zero = 1, b | zero, b | b | 1"},
        {R"({"devices": 8, "label": "mine", "batch_tokens": [4, 8], "micro_batches": 2})",
         R"([{"key": "options.zero", "values": [1]}])", 1,
         "1: mine, batch_tokens = 8, zero = 1 | mine, batch_tokens = 8, zero | "
         "mine, batch_tokens = 8 | 1micro_batches = 2"}}) {
    const auto points = points_of(point, sweeps);
    const SweptPoint& one = points.at(static_cast<std::size_t>(place));
    EXPECT_EQ(fmt::format("{}: {} | {} | {} | {}{}", points.size() - 1, one.label, one.line,
                          one.rest, one.value.value(), one.stated),
              expected);
    EXPECT_FALSE(one.entry.contains("label"));
  }
}

// The dots of a scale are its own.
TEST(Sweeps, SetAKeyToEachValue) {
  const auto points = points_of(R"({"devices": 8, "options": {"zero": 1}})",
                                R"([{"key": "options.overlap.all_reduce", "values": [true, false]},
                    {"key": "scales.network.link_bandwidth_GBps", "values": [0.5]}])");

  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].entry.at("options"),
            json::parse(R"({"zero": 1, "overlap": {"all_reduce": false}})"));
  EXPECT_EQ(points[1].entry.at("scales"), json::parse(R"({"network.link_bandwidth_GBps": 0.5})"));
  EXPECT_THAT(points[1].label, HasSubstr("all_reduce = false"));
}

TEST(Sweeps, RefuseWhatIsNone) {
  const auto said = [](const std::string& sweeps) {
    return refusal<std::runtime_error>([&] { points_of(R"({"devices": 8})", sweeps); });
  };

  EXPECT_THAT(said(R"([{"list": []}])"), HasSubstr("at least one entry"));
  EXPECT_THAT(said(R"([{"kei": "a"}])"), HasSubstr("did you mean \"key\"?"));
  EXPECT_THAT(said(R"([{"list": [{"label": "a"}, {"label": "a"}]}])"),
              HasSubstr("two points of a sweep have the label 'a'; give each a label or a value"));
  EXPECT_THAT(said(R"([{"list": [{"label": "a", "value": 2}, {"label": "a", "value": 2}]}])"),
              HasSubstr("the label 'a' and the same value; give each"));
  EXPECT_EQ(said(R"([{"list": [{"label": "a", "value": 1}, {"label": "a", "value": 2}]}])"),
            "accepted");
}

TEST(Growth, RefusesAModelWithoutLayersOrTooWideToCount) {
  const Model base = read_model("gpt-5b");
  EXPECT_EQ(grown(base, 1.0, Growth::layers).name, "gpt-5b");
  EXPECT_THAT(refusal<std::runtime_error>([&] { grown(base, 1e9, Growth::width); }),
              HasSubstr("it must be at most 1048576"));
  EXPECT_THAT(refusal<std::runtime_error>([&] { grown(base, 1e-3, Growth::layers); }),
              HasSubstr("no layers"));
}

Campaign campaign_of(const std::string& text) {
  return read_from(text, [](const std::string& path) { return read_campaign(path); });
}

std::string said_of(const std::string& text) {
  return refusal<std::runtime_error>([&] { campaign_of(text); });
}

constexpr const char* head =
    "title = \"t\"\n"
    "batch_tokens = 65_536\n"
    "fidelity = \"estimated\"\n";

// What edits of one entry do not bring about; all others are in tests/golden/refusals.txt.
TEST(Campaigns, ErrorsNameTheLineOfWhatIsWrong) {
  const std::string machine =
      "[[machine]]\nplatform = \"frontier\"\npoints = [\n  { devices = 8, model = \"gpt-5b\" },\n";
  const std::string of_point = "[[machine]]\nplatform = \"frontier\"\npoints = [{ devices = 8, ";
  const std::string plain = "model = \"gpt-5b\" }]\n";
  const std::string sweep = "]\n[[sweep]]\nlist = [\n  { label = \"plain\" },\n";
  const std::string top = head;

  for (const auto& [text, why] : std::vector<std::pair<std::string, const char*>>{
           {top + machine + "  { devices = 16, model = 7 }]\n",
            "line 8: a point of frontier: 'model' must be text"},
           {top + machine + "]\n\n[[sweep]]\nkey = \"seed\"\n",
            "line 10: a sweep: key 'values' is missing"},
           {top + machine + "  { devices = 16, model = \"gpt-5b\" },\n" +
                "  { devices = 8, model = \"gpt-5b\" }]\n",
            "line 9: points 1 and 3 are the same"},
           {top + machine + "  { devices = 16, grow = { model = \"gpt-5b\", devices = 8, " +
                "along = \"depth\" } }]\n",
            "line 8: a point of frontier, 'grow': unknown value 'depth' of 'along'; it is one of "
            "layers, width"},
           // A line end in a label would break a row of a table and the script of a figure.
           {top + machine + sweep + "  { label = \"two\\nlines\", options = { zero = 1 } }]\n",
            "line 12: 'label' has a line end, a tab or another control character"},
           {top + "axis = \"a\\u007f\"\n" + machine + "]\n", "line 4: 'axis' has a line end"},
           {top + "figures = [\"stron\"]\n" + machine + "]\n",
            "line 4: unknown figure 'stron'; did you mean \"strong\"?"},
           {top + of_point + "model = \"gpt-5b\", grow = { model = \"gpt-5b\", devices = 8 } }]\n",
            "either 'model' or 'grow'"},
           {top + of_point + "batch_tokens = 2048, batch_tokens_per_device = 2048, " + plain,
            "exclude each other"},
           {top + "grids = \"all\"\n" + of_point + plain, "needs a fidelity that simulates"}}) {
    EXPECT_THAT(said_of(text), HasSubstr(why));
  }
}

// Of lists, growing models and seeds; only what is random is repeated.
TEST(Campaigns, AskOfEveryCombination) {
  const auto of = [](const std::string& lines, const std::string& rest) {
    return campaign_of("title = \"t\"\nfidelity = \"estimated\"\n" + lines +
                       "[[machine]]\nplatform = \"frontier\"\npoints = [{ " + rest + " }]\n");
  };
  const Campaign growing = of("batch_tokens_per_device = 32_768\n",
                              "devices = [16, 32], grow = { model = \"gpt-5b\", devices = 16 }");
  ASSERT_EQ(growing.questions.size(), 2u);
  EXPECT_EQ(growing.questions[0].model.layers, 24);
  EXPECT_EQ(growing.questions[1].model.layers, 49);
  EXPECT_EQ(growing.questions[0].global_batch, 256);
  EXPECT_EQ(growing.questions[1].global_batch, 512);

  const std::string plain = "devices = 16, model = \"gpt-5b\"";
  const Campaign batches = of("batch_tokens = [65_536, 131_072]\n", plain);
  ASSERT_EQ(batches.questions.size(), 2u);
  EXPECT_EQ(batches.questions[1].global_batch, 64);
  EXPECT_EQ(batches.tags[1].value, 131'072.0);
  // What says its own batch, below or by a sweep, goes before such a list.
  for (const std::string own :
       {", batch_tokens = 262_144", ", batch_tokens_per_device = 16_384",
        " }]\n[[sweep]]\nlist = [{ label = \"large\", batch_tokens = 262_144"}) {
    const Campaign one = of("batch_tokens = [65_536, 131_072]\n", plain + own);
    ASSERT_EQ(one.questions.size(), 1u) << own;
    EXPECT_EQ(one.questions[0].global_batch, 128) << own;
  }

  const Campaign seeds =
      of("batch_tokens = 65_536\nrepetitions = 3\n[[sweep]]\nlist = [{ label = \"plain\" }, "
         "{ label = \"jitter\", what_if = { jitter = \"2%\" } }]\n",
         plain);
  ASSERT_EQ(seeds.questions.size(), 4u);
  EXPECT_EQ(seeds.questions[1].what_ifs.seed, 1u);
  EXPECT_EQ(seeds.questions[3].what_ifs.seed, 3u);
  EXPECT_EQ(seeds.tags[3].repetition, 3);
}

// Of the campaign, of a point and of a sweep; the nearest goes before the others.
TEST(WhatIfs, OfACampaignGrowByThoseBelowThem) {
  const Campaign campaign = campaign_of(R"(title = "t"
batch_tokens = 65_536
what_if = { degrade = ["nic:0.0=0.5", "nic:0.1=0.5"] }
sweep = [{ key = "what_if.degrade", values = [["nic:0.2=0.5"], []] }]
[[machine]]
platform = "frontier"
points = [{ devices = 16, model = "gpt-5b", what_if = { degrade = ["nic:0.1=0.9"] } }])");
  EXPECT_THAT(json_of(campaign.questions.at(0).what_ifs).dump(),
              HasSubstr(R"("degrade":["nic:0.0=0.5","nic:0.1=0.9","nic:0.2=0.5"])"));
  EXPECT_TRUE(campaign.questions.at(1).what_ifs.degrade.empty());
}

}  // namespace
}  // namespace fourfold::tests
