// Lists, sweeps and growing models of campaigns, and the lines that errors name.
#include "scaling/study/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scaling/study/campaign.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/parameter_count.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Sweeps, MultiplyListsOfAPoint) {
  const auto points = swept(json::parse(R"({"devices": [8, 16], "model": ["a", "b"]})"), json());

  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0].entry, json::parse(R"({"devices": 8, "model": "a"})"));
  EXPECT_EQ(points[1].entry, json::parse(R"({"devices": 16, "model": "a"})"));
  EXPECT_EQ(points[3].entry, json::parse(R"({"devices": 16, "model": "b"})"));
  EXPECT_EQ(points[3].label, "");
}

// The points that a point and the sweeps of a campaign make, both as JSON.
std::vector<SweptPoint> points_of(const std::string& point, const std::string& sweeps) {
  return swept(json::parse(point), json::parse(sweeps));
}

TEST(Sweeps, SetAKeyToEachValueWithALabel) {
  const auto points =
      points_of(R"({"devices": 8, "options": {"zero": 1}})",
                R"([{"key": "options.overlap.all_reduce", "values": [true, false]}])");

  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].entry.at("options"),
            json::parse(R"({"zero": 1, "overlap": {"all_reduce": false}})"));
  EXPECT_EQ(points[1].label, "all_reduce = false");
}

TEST(Sweeps, TakeTheDotsOfAScaleAsItsOwn) {
  const auto points = points_of(
      R"({"devices": 8})", R"([{"key": "scales.network.link_bandwidth_GBps", "values": [0.5]}])");

  EXPECT_EQ(points[0].entry.at("scales"), json::parse(R"({"network.link_bandwidth_GBps": 0.5})"));
  EXPECT_EQ(points[0].value, 0.5);
}

TEST(Sweeps, MultiplyOneAnother) {
  const auto points = points_of(R"({"devices": 8})",
                                R"([{"list": [{"label": "a"}, {"label": "b", "value": 2}]},
                                    {"key": "options.zero", "values": [0, 1, 2]}])");

  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(points[4].label, "b, zero = 1");
  EXPECT_EQ(points[4].line, "b, zero");
  EXPECT_EQ(points[4].rest, "b");
}

TEST(Sweeps, OfWordsLeaveTheValueOfANumberBeforeThemOutOfTheLine) {
  const auto points = points_of(R"({"devices": 8})",
                                R"([{"key": "options.zero", "values": [0, 1]},
                                    {"list": [{"label": "a"}, {"label": "b"}]}])");

  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[3].label, "zero = 1, b");
  EXPECT_EQ(points[3].line, "zero, b");
  EXPECT_EQ(points[3].rest, "b");
  EXPECT_EQ(points[3].value, 1.0);
}

TEST(Sweeps, LabelBatchesOfAListAndBeginWithThePointsLabel) {
  const auto points = points_of(R"({"devices": 8, "label": "mine", "batch_tokens": [4, 8]})",
                                R"([{"key": "options.zero", "values": [1]}])");

  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].label, "mine, batch_tokens = 8, zero = 1");
  EXPECT_EQ(points[1].line, "mine, batch_tokens = 8, zero");
  EXPECT_EQ(points[1].rest, "mine, batch_tokens = 8");
  EXPECT_FALSE(points[1].entry.contains("label"));
}

TEST(Sweeps, RefuseWhatIsNone) {
  const auto said = [](const std::string& sweeps) {
    return refusal<std::runtime_error>([&] { points_of(R"({"devices": 8})", sweeps); });
  };

  EXPECT_THAT(said(R"([{"key": "devices"}])"), HasSubstr("'values' is missing"));
  EXPECT_THAT(said(R"([{"values": [1]}])"), HasSubstr("either 'key' with 'values', or 'list'"));
  EXPECT_THAT(said(R"([{"list": []}])"), HasSubstr("at least one entry"));
  EXPECT_THAT(said(R"([{"list": [{"value": 1}]}])"), HasSubstr("'label' is missing"));
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
  const TemporaryFolder folder;
  const std::string path = folder.file("c.toml");
  write_content(path, text);
  return read_campaign(path);
}

std::string said_of(const std::string& text) {
  return refusal<std::runtime_error>([&] { campaign_of(text); });
}

constexpr const char* head =
    "title = \"t\"\n"
    "batch_tokens = 65_536\n"
    "fidelity = \"estimated\"\n";

TEST(Campaigns, ErrorsNameTheLineOfTheirKeyInTomlsWords) {
  const std::string machine = "[[machine]]\nplatform = \"frontier\"\npoints = [\n  { devices = 8, ";

  EXPECT_THAT(said_of(head + machine + "model = \"gpt-5b\" },\n  { devices = 16, model = 7 }]\n"),
              HasSubstr("c.toml, line 8: a point of frontier: 'model' must be text"));
  EXPECT_THAT(said_of(std::string(head) + "options = true\n" + machine + "model = \"gpt-5b\" }]\n"),
              HasSubstr("line 4: 'options': a table is expected, not true or false"));
  EXPECT_THAT(said_of(head + machine + "model = \"gpt-5b\", gird = \"1x1x8x1\" }]\n"),
              HasSubstr("line 7: a point of frontier: unknown key 'gird'"));
  EXPECT_THAT(said_of(std::string(head) + "titel = 1\n" + machine + "model = \"gpt-5b\" }]\n"),
              HasSubstr("line 4: the campaign: unknown key 'titel'"));
}

// Of what stands outside points, of a value that is wrong, and of the second of two that are alike.
TEST(Campaigns, ErrorsNameTheLineOfWhatIsWrong) {
  const std::string machine =
      "[[machine]]\nplatform = \"frontier\"\npoints = [\n  { devices = 8, model = \"gpt-5b\" },\n";

  EXPECT_THAT(
      said_of(std::string(head) + "figures = [\n  \"time\",\n  \"tiem\"\n]\n" + machine + "]\n"),
      AllOf(HasSubstr("line 6: unknown figure 'tiem'; did you mean \"time\"?"),
            HasSubstr("It is one of pflops, time, systems, strong")));
  EXPECT_THAT(said_of(head + machine + "]\n\n[[figure]]\nkind = \"time\"\n"),
              HasSubstr("line 10: the campaign: unknown key 'figure'"));
  EXPECT_THAT(said_of(head + machine + "]\n\n[[sweep]]\nkey = \"seed\"\n"),
              HasSubstr("line 10: a sweep: key 'values' is missing"));
  EXPECT_THAT(said_of(head + machine + "  { devices = 16, model = \"gpt-5b\" },\n" +
                      "  { devices = 8, model = \"gpt-5b\" }]\n"),
              HasSubstr("line 9: points 1 and 3 are the same"));
  EXPECT_THAT(
      said_of(head + machine + "  { devices = 16, grow = { model = \"gpt-5b\", devices = 8, " +
              "along = \"depth\" } }]\n"),
      HasSubstr("line 8: a point of frontier, 'grow': unknown value 'depth' of 'along'; it "
                "is one of layers, width"));
}

// A line end in a label would break a row of a table and the script of a figure.
TEST(Campaigns, RefuseTextsOfSeveralLines) {
  const std::string machine =
      "[[machine]]\nplatform = \"frontier\"\npoints = [{ devices = 8, model = \"gpt-5b\" }]\n";
  const std::string sweep = "[[sweep]]\nlist = [\n  { label = \"plain\" },\n";

  EXPECT_THAT(
      said_of(head + machine + sweep + "  { label = \"two\\nlines\", options = { zero = 1 } }]\n"),
      HasSubstr("line 10: 'label' has a line end, a tab or another control character"));
  EXPECT_THAT(said_of(std::string(head) + "axis = \"a\\u007f\"\n" + machine),
              HasSubstr("line 4: 'axis' has a line end"));
}

TEST(Campaigns, RefuseWhatNoPointFollows) {
  const std::string machine =
      "[[machine]]\nplatform = \"frontier\"\npoints = [{ devices = 8, model = \"gpt-5b\" }]\n";

  EXPECT_THAT(said_of(std::string(head) + "repetitions = 2\n" + machine),
              HasSubstr("line 4: the campaign: 'repetitions' would all be the same"));
  EXPECT_THAT(said_of(std::string(head) + "axis = \"factor\"\n" + machine),
              HasSubstr("line 4: the campaign: 'axis' is of the figure lines"));
  EXPECT_THAT(said_of(head + machine + "[[sweep]]\nlist = [\n  { label = \"a\" },\n" +
                      "  { label = \"a\", options = { zero = 1 } }]\n"),
              HasSubstr("line 9: two points of a sweep have the label 'a'"));
}

TEST(Campaigns, GrowTheModelAndTheBatchWithTheDevices) {
  const Campaign campaign = campaign_of(
      "title = \"t\"\nbatch_tokens_per_device = 32_768\nfidelity = \"estimated\"\n"
      "[[machine]]\nplatform = \"frontier\"\n"
      "points = [{ devices = [16, 32], grow = { model = \"gpt-5b\", devices = 16 } }]\n");

  ASSERT_EQ(campaign.questions.size(), 2u);
  EXPECT_EQ(campaign.questions[0].model.layers, 24);
  EXPECT_EQ(campaign.questions[1].model.layers, 49);
  EXPECT_EQ(campaign.questions[0].global_batch, 256);
  EXPECT_EQ(campaign.questions[1].global_batch, 512);
}

TEST(Campaigns, TakeAListOfBatches) {
  const Campaign campaign = campaign_of(
      "title = \"t\"\nbatch_tokens = [65_536, 131_072]\nfidelity = \"estimated\"\n"
      "[[machine]]\nplatform = \"frontier\"\npoints = [{ devices = 16, model = \"gpt-5b\" }]\n");

  ASSERT_EQ(campaign.questions.size(), 2u);
  EXPECT_EQ(campaign.questions[1].global_batch, 64);
  EXPECT_EQ(campaign.tags[1].value, 131'072.0);
}

TEST(Campaigns, RepeatOnlyWhatIsRandomWithOtherSeeds) {
  const Campaign campaign = campaign_of(
      "title = \"t\"\nbatch_tokens = 65_536\nrepetitions = 3\n"
      "[[sweep]]\nlist = [{ label = \"plain\" }, { label = \"jitter\", what_if = { jitter = "
      "\"2%\" } }]\n"
      "[[machine]]\nplatform = \"frontier\"\npoints = [{ devices = 16, model = \"gpt-5b\" }]\n");

  ASSERT_EQ(campaign.questions.size(), 4u);
  EXPECT_EQ(campaign.questions[1].what_ifs.seed, 1u);
  EXPECT_EQ(campaign.questions[3].what_ifs.seed, 3u);
  EXPECT_EQ(campaign.tags[3].repetition, 3);
}

TEST(Campaigns, RefuseWhatExcludesItself) {
  const std::string machine = "[[machine]]\nplatform = \"frontier\"\npoints = [{ devices = 8, ";

  EXPECT_THAT(said_of(head + machine +
                      "model = \"gpt-5b\", grow = { model = \"gpt-5b\", devices = 8 } }]\n"),
              HasSubstr("either 'model' or 'grow'"));
  EXPECT_THAT(
      said_of(head + machine +
              "model = \"gpt-5b\", batch_tokens = 2048, batch_tokens_per_device = 2048 }]\n"),
      HasSubstr("exclude each other"));
  EXPECT_THAT(
      said_of(std::string(head) + "grids = \"all\"\n" + machine + "model = \"gpt-5b\" }]\n"),
      HasSubstr("needs a fidelity that simulates"));
  EXPECT_THAT(
      said_of(std::string(head) + "figures = [\"stron\"]\n" + machine + "model = \"gpt-5b\" }]\n"),
      HasSubstr("did you mean \"strong\"?"));
}

}  // namespace
}  // namespace fourfold::tests
