// Measured points of campaigns: how they are read, what is refused, their records and tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/records/record_json.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/measured_point.hpp"
#include "scaling/study/measured_table.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* head =
    "title = \"t\"\n"
    "batch_tokens = 2_048\n"
    "fidelity = \"measured\"\n";
const std::string machine = "[[machine]]\nplatform = \"perlmutter\"\npoints = [";

Campaign campaign_of(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.file("c.toml");
  write_content(path, text);
  return read_campaign(path);
}

std::string said_of(const std::string& text) {
  return refusal<std::runtime_error>([&] { campaign_of(text); });
}

TEST(MeasuredCampaigns, TrainAsFourfoldTrainDoesUnlessTheySayOtherwise) {
  const Campaign campaign =
      campaign_of(head + machine + "{ devices = 2, model = \"gpt2-mini\", grid = \"1x1x1x2\" }]\n");
  const Campaign other =
      campaign_of(head + std::string("options = { precision = \"bf16\" }\n[measure]\nsteps = 7\n") +
                  machine + "{ devices = 2, model = \"gpt2-mini\", grid = \"1x1x1x2\" }]\n");

  ASSERT_TRUE(campaign.is_measured());
  EXPECT_EQ(campaign.questions[0].options.precision, Precision::fp32);
  EXPECT_EQ(campaign.questions[0].options.recompute, Recompute::none);
  EXPECT_EQ(campaign.questions[0].micro_batches, 1);
  EXPECT_EQ(other.questions[0].options.precision, Precision::bf16);
  EXPECT_EQ(other.measure.steps, 7);
}

TEST(MeasuredCampaigns, RepeatWithOtherSeeds) {
  const Campaign campaign =
      campaign_of(head + std::string("repetitions = 2\n") + machine +
                  "{ devices = 2, model = \"gpt2-mini\", grid = \"1x1x1x2\" }]\n");

  ASSERT_EQ(campaign.questions.size(), 2u);
  EXPECT_EQ(campaign.tags[1].repetition, 2);
  EXPECT_EQ(point_name(campaign, 1), "perlmutter 2 gpt2-mini, seed 2");
  EXPECT_NE(measured_key(campaign.questions[0], campaign.measure, 1, "engine"),
            measured_key(campaign.questions[1], campaign.measure, 2, "engine"));
}

TEST(MeasuredCampaigns, RefuseWhatCannotBeMeasured) {
  const std::string point = "{ devices = 2, model = \"gpt2-mini\", grid = \"1x1x1x2\"";

  EXPECT_THAT(said_of(head + machine + point + ", what_if = { jitter = \"2%\" } }]\n"),
              HasSubstr("trained as it is"));
  EXPECT_THAT(said_of(head + machine + point + ", scales = { nodes = 2.0 } }]\n"),
              HasSubstr("trained as it is"));
  EXPECT_THAT(said_of(head + std::string("[measure]\nsteps = 3\n") + machine + point + " }]\n"),
              HasSubstr("line 4: the campaign, 'measure': 'steps' must be at least 4"));
  EXPECT_THAT(
      said_of(head + std::string("[measure]\ndata = \"none\"\n") + machine + point + " }]\n"),
      HasSubstr("there is no file"));
  EXPECT_THAT(
      said_of(head + machine + "{ devices = 4, model = \"gpt2-mini\", grid = \"1x1x1x2\" }]\n"),
      HasSubstr("grid 1x1x1x2 has 2 devices, not 4"));
  EXPECT_THAT(said_of("title = \"t\"\nbatch_tokens = 2_048\nmeasure = { steps = 5 }\n" + machine +
                      point + " }]\n"),
              HasSubstr("'measure' needs fidelity = \"measured\""));
}

TEST(MeasuredCampaigns, SayWhereATwinHasNoRoom) {
  Question question;
  question.platform = "perlmutter";
  question.devices = 1'000'000;

  EXPECT_THAT(twin_refusal(question), HasSubstr("perlmutter has "));
  question.devices = 8;
  EXPECT_EQ(twin_refusal(question), "");
}

TEST(LaunchWords, PutTheRanksIn) {
  EXPECT_EQ(launch_words("srun --ntasks={ranks}  -v", 8),
            (std::vector<std::string>{"srun", "--ntasks=8", "-v"}));
  EXPECT_THAT(refusal<std::runtime_error>([] { launch_words("srun", 8); }),
              HasSubstr("does not say how many ranks"));
}

Record measured_record(std::int64_t devices, double seconds) {
  Record record = made_up_record();
  record.fidelity = Fidelity::measured;
  record.point.platform = "here";
  record.point.scales = {};
  record.point.what_ifs = {};
  record.point.grid = ProcessGrid(1, 1, 1, devices);
  record.outcome.total = {seconds};
  record.bar.reset();
  record.replay.reset();
  record.uniform.reset();
  record.model_flops = {1e12};
  record.empirical_peak = record.advertised_peak = {1e11};
  record.measured =
      MeasuredStep{{0.9 * seconds},  {1.2 * seconds},    8,    3,  "ring", "a processor, 2 cores",
                   "some libraries", {{"product", 0.5}}, 0.01, 0.1};
  return record;
}

TEST(MeasuredRecords, KeepWhatWasMeasuredAndNothingThatWasNot) {
  const Record record = measured_record(2, 1.5);

  const std::string text = to_json(record);
  const Record read = record_from_json(text);

  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.fidelity, Fidelity::measured);
  ASSERT_TRUE(read.measured);
  EXPECT_EQ(read.measured->seed, 3u);
  EXPECT_EQ(read.measured->high, Seconds{1.2 * 1.5});
  for (const char* key : {"estimated_s", "search", "replay", "advertised_peak"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("\"") + key))) << key;
  }
}

Study measured_study() {
  Study study;
  study.title = "Measured";
  for (const std::int64_t devices : {1, 2, 8}) {
    StudyRow row;
    row.machine = "here";
    row.record = measured_record(devices, 4.0 / static_cast<double>(devices));
    study.rows.push_back(row);
  }
  study.rows[1].twin = made_up_record();
  study.rows[1].twin->outcome.total = {1.8};
  study.rows[1].speed = 0.9;
  study.rows[2].no_twin = "more than two ranks a core (4)";
  return study;
}

TEST(MeasuredTables, ShowTheTwinBesideItOrWhyThereIsNone) {
  const std::string text = measured_text(measured_study(), Width::whole);

  EXPECT_THAT(text, HasSubstr("2000.0"));  // measured, and simulated at the speed of the run
  EXPECT_THAT(text, HasSubstr("+0.0"));
  EXPECT_THAT(text, HasSubstr("1800.0-2400.0"));
  EXPECT_THAT(text, HasSubstr("on 8 ranks has no simulated twin: more than two ranks a core (4)."));
  EXPECT_THAT(text, HasSubstr("a processor, 2 cores"));
  EXPECT_THAT(text, Not(HasSubstr("is no calibration of")));
}

// Seconds of another machine stand beside measured ones, but not as if they were this one's.
TEST(MeasuredTables, SayWhereThePlatformIsNotTheMachineThatWasMeasured) {
  Study study = measured_study();
  study.rows[1].machine = "perlmutter";
  study.rows[1].speed.reset();

  const std::string text = measured_text(study, Width::whole);

  EXPECT_THAT(text, HasSubstr("perlmutter is no calibration of a processor, 2 cores: "));
  EXPECT_THAT(text, Not(HasSubstr("here is no calibration")));
  EXPECT_EQ(calibrated_reference("perlmutter", "a processor, 2 cores"), std::nullopt);
}

// Against the fewest ranks of its own series, however few another has.
TEST(MeasuredTables, SpeedUpIsWithinASeries) {
  Study study = measured_study();
  const std::string of_one = measured_text(study, Width::whole);
  for (StudyRow& row : study.rows) row.label = std::to_string(row.record.devices()) + " ranks";
  const std::string of_three = measured_text(study, Width::whole);

  for (const char* speedup : {" 2.00 ", " 8.00 "}) {
    EXPECT_THAT(of_one, HasSubstr(speedup));
    EXPECT_THAT(of_three, Not(HasSubstr(speedup)));
  }
}

TEST(MeasuredTables, AreDrawnWithTwinsAsASeriesAndQuartilesAsBars) {
  const Study drawn = with_twins(measured_study());

  ASSERT_EQ(drawn.rows.size(), 4u);
  EXPECT_EQ(drawn.rows[0].label, "measured");
  EXPECT_EQ(drawn.rows[3].label, "simulated");
  EXPECT_THAT(figure_csv("strong", drawn), HasSubstr("1,4,4,1,1,3.6,4.8"));
}

}  // namespace
}  // namespace fourfold::tests
