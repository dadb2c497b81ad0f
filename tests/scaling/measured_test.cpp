// Measured points of campaigns: how they are read, what is refused, their records and tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/study/campaign_run.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/measured_point.hpp"
#include "scaling/study/measured_table.hpp"
#include "scaling/study/speedup.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string point = "{ devices = 2, model = \"gpt2-mini\", grid = \"1x1x1x2\" }";

// A measured campaign with these lines behind its head of three, and this point of one machine.
Campaign campaign_of(const std::string& lines, const std::string& one = point) {
  return read_from("title = \"t\"\nbatch_tokens = 2_048\nfidelity = \"measured\"\n" + lines +
                       "[[machine]]\nplatform = \"perlmutter\"\npoints = [" + one + "]\n",
                   [](const std::string& path) { return read_campaign(path); });
}

TEST(MeasuredCampaigns, TrainAsFourfoldTrainDoesUnlessTheySayOtherwise) {
  const Campaign campaign = campaign_of("repetitions = 2\n");
  const Campaign other = campaign_of("options = { precision = \"bf16\" }\n[measure]\nsteps = 7\n");

  ASSERT_TRUE(campaign.is_measured());
  EXPECT_EQ(campaign.questions[0].options.precision, Precision::fp32);
  EXPECT_EQ(campaign.questions[0].options.recompute, Recompute::none);
  EXPECT_EQ(campaign.questions[0].micro_batches, 1);
  EXPECT_EQ(other.questions[0].options.precision, Precision::bf16);
  EXPECT_EQ(other.measure.steps, 7);
  // Again with other seeds.
  ASSERT_EQ(campaign.questions.size(), 2u);
  EXPECT_EQ(campaign.tags[1].repetition, 2);
  EXPECT_EQ(point_name(campaign, 1), "perlmutter 2 gpt2-mini, seed 2");
  EXPECT_NE(measured_key(campaign.questions[0], campaign.measure, 1, "engine"),
            measured_key(campaign.questions[1], campaign.measure, 2, "engine"));
}

TEST(MeasuredCampaigns, RefuseWhatCannotBeMeasured) {
  const auto said = [](const std::string& lines, const std::string& one = point) {
    return refusal<std::runtime_error>([&] { campaign_of(lines, one); });
  };
  const std::string open = point.substr(0, point.size() - 2);

  EXPECT_THAT(said("", open + ", what_if = { jitter = \"2%\" } }"), HasSubstr("trained as it is"));
  EXPECT_THAT(said("", open + ", scales = { nodes = 2.0 } }"), HasSubstr("trained as it is"));
  EXPECT_THAT(said("[measure]\nsteps = 3\n"),
              HasSubstr("line 4: the campaign, 'measure': 'steps' must be at least 4"));
  EXPECT_THAT(said("[measure]\ndata = \"none\"\n"), HasSubstr("there is no file"));
  EXPECT_THAT(refusal<std::runtime_error>([] {
                read_from(
                    "title = \"t\"\nbatch_tokens = 2_048\nmeasure = { steps = 5 }\n[[machine]]\n"
                    "platform = \"perlmutter\"\npoints = [" +
                        point + "]\n",
                    [](const std::string& path) { return read_campaign(path); });
              }),
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

// Repetitions scale by their median, here of 3 s, and twins by their own fewest ranks.
TEST(MeasuredTables, AreDrawnWithTwinsAsASeriesAndQuartilesAsBars) {
  Study study = measured_study();
  study.rows.insert(study.rows.begin() + 1, study.rows.front());
  study.rows[1].record.outcome.total = {2.0};
  study.rows[1].repetition = 2;
  const Study drawn = with_twins(study);

  ASSERT_EQ(drawn.rows.size(), 5u);
  EXPECT_EQ(drawn.rows[0].label, "measured");
  EXPECT_EQ(drawn.rows[4].label, "simulated");
  EXPECT_THAT(figure_csv("strong", drawn), HasSubstr("1,4,3,1,1,3.6,4.8"));
  EXPECT_THAT(figure_csv("strong", drawn), HasSubstr("2,2,1.5,1.5,0.75,"));
  EXPECT_THAT(measured_text(study, Width::whole), HasSubstr(" 1.50 "));
  const std::vector<Speedup> scaling = speedups(drawn);
  EXPECT_EQ(scaling[4].ideal_rate, drawn.rows[4].record.rate());
}

}  // namespace
}  // namespace fourfold::tests
