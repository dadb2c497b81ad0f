// Points and replay answers survive JSON unchanged, and bad JSON is refused in words.
#include "sim/question/point.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/question/replay_answer.hpp"
#include "tests/channels.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

// Every field but the precision differs from its default, so that a field that is not carried is
// noticed.
Point unusual_point() {
  Point point;
  point.platform = "frontier";
  point.scales = {{"network.links_per_group_pair", 0.5}};
  point.model = {"gpt-7b", 30, 4608, 36, 4096, 32'000};
  point.grid = ProcessGrid(2, 3, 4, 5);
  point.global_batch = 120;
  point.options = {.micro_batches = 3,
                   .recompute = Recompute::none,
                   .overlap = {false, false, false, false},
                   .in_flight_blocks = 7,
                   .weight_gather = WeightGather::keep,
                   .gradient_reduction = GradientReduction::accumulated,
                   .data_reduction = DataReduction::beside_backward,
                   .grad_reduce_precision_z = Precision::fp32,
                   .grad_reduce_precision_data = Precision::bf16};
  return point;
}

std::string refusal(const std::string& text) {
  try {
    point_from_json(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

// The JSON of the unusual point with one piece of it replaced.
std::string with(const std::string& piece, const std::string& replacement) {
  std::string text = to_json(unusual_point());
  const std::size_t position = text.find(piece);
  EXPECT_NE(position, std::string::npos) << piece << " is not in " << text;
  return text.replace(position, piece.size(), replacement);
}

TEST(PointJson, CarriesEveryField) {
  const Point point = unusual_point();

  const Point again = point_from_json(to_json(point));

  EXPECT_EQ(again.platform, point.platform);
  EXPECT_EQ(again.scales, point.scales);
  EXPECT_EQ(again.model.name, point.model.name);
  EXPECT_EQ(again.model.layers, point.model.layers);
  EXPECT_EQ(again.model.hidden, point.model.hidden);
  EXPECT_EQ(again.model.heads, point.model.heads);
  EXPECT_EQ(again.model.sequence, point.model.sequence);
  EXPECT_EQ(again.model.vocabulary, point.model.vocabulary);
  EXPECT_EQ(again.grid, point.grid);
  EXPECT_EQ(again.global_batch, point.global_batch);
  EXPECT_EQ(again.options, point.options);
}

// fp32 throughout leaves no choice of precision to the reductions, and the record says so.
TEST(PointJson, CarriesFp32ThroughoutWithTheReductionsItMeans) {
  Point point = unusual_point();
  point.options.precision = Precision::fp32;

  const StepOptions again = point_from_json(to_json(point)).options;

  EXPECT_EQ(again.precision, Precision::fp32);
  EXPECT_EQ(again.grad_reduce_precision_z, Precision::fp32);
  EXPECT_EQ(again.grad_reduce_precision_data, Precision::fp32);
}

TEST(PointJson, RefusesMoreBlocksInFlightThanAnyModelHas) {
  EXPECT_THAT(refusal(with("\"in_flight_blocks\":7", "\"in_flight_blocks\":1001")),
              HasSubstr("must be at most 1000"));
}

TEST(PointJson, IsOneLine) {
  EXPECT_EQ(to_json(unusual_point()).find('\n'), std::string::npos);
}

TEST(PointJson, RefusesUnknownKeyAndNamesTheNearest) {
  EXPECT_THAT(refusal(with("\"in_flight_blocks\":7", "\"in_flight_blocks\":7,\"micro_batchs\":1")),
              HasSubstr("unknown key 'micro_batchs'; did you mean \"micro_batches\"?"));
}

TEST(PointJson, RefusesMissingKey) {
  EXPECT_THAT(refusal(with("\"heads\":36,", "")), HasSubstr("key 'heads' is missing"));
}

TEST(PointJson, RefusesImpossibleValues) {
  EXPECT_THAT(refusal(with("\"heads\":36", "\"heads\":0")),
              HasSubstr("'heads' must be a whole number, 1 or more"));
  EXPECT_THAT(refusal(with("\"heads\":36", "\"heads\":3.5")), HasSubstr("whole number"));
  EXPECT_THAT(refusal(with("\"heads\":36", "\"heads\":18446744073709551615")),
              HasSubstr("whole number"));
  EXPECT_THAT(refusal(with("\"2x3x4x5\"", "\"2x3x4\"")), HasSubstr("process grid"));
  EXPECT_THAT(refusal(with("\"2x3x4x5\"", "\"2x3x0x5\"")), HasSubstr("at least 1"));
  EXPECT_THAT(refusal(with(":0.5", ":-0.5")), HasSubstr("from 0.000001 to 1000000"));
  EXPECT_THAT(refusal(with("\"keep\"", "\"kep\"")), HasSubstr("did you mean \"keep\"?"));
}

// 2^36 tokens are 2^24 sequences of 4,096.
TEST(PointJson, RefusesMoreTokensThanAreCounted) {
  const auto of = [](const std::string& sequences) {
    return with("sequences\":120", "sequences\":" + sequences);
  };

  EXPECT_EQ(refusal(of("16777216")), "accepted");
  EXPECT_THAT(refusal(of("16777217")), HasSubstr("more than the 68719476736 tokens"));
}

TEST(PointJson, RefusesWhatIsNoJsonObject) {
  EXPECT_THAT(refusal("{\"platform\":"), HasSubstr("is no JSON: '{\"platform\":'"));
  EXPECT_THAT(refusal("one\ntwo"), HasSubstr("is no JSON: 'one...'"));
  EXPECT_THAT(refusal("[]"), HasSubstr("object is expected, not array"));
}

TEST(ReplayAnswerJson, KeepsEveryBit) {
  ReplayAnswer answer;
  answer.outcome.total = {18.490000000000002};
  answer.outcome.compute = {1.0 / 3.0};
  answer.outcome.channels = made_up_channels();
  for (std::size_t c = 0; c < answer.outcome.channels.size(); ++c) {
    const auto factor = static_cast<double>(c + 1);
    answer.outcome.exposed.push_back({0.1 * factor});
    answer.outcome.busy.push_back({std::numeric_limits<double>::min() * factor});
  }
  answer.extrapolated = true;
  answer.extrapolation_check = 1e-9;
  answer.collectives = 6'300'000;
  answer.work = 1'234;
  answer.cpu_s = 9.5;
  answer.peak_rss_MiB = 198.0;
  answer.simgrid = "3.32";

  const ReplayAnswer again = replay_answer_from_json(to_json(answer));

  EXPECT_EQ(again.outcome.total, answer.outcome.total);
  EXPECT_EQ(again.outcome.compute, answer.outcome.compute);
  EXPECT_EQ(again.outcome.channels, answer.outcome.channels);
  EXPECT_EQ(again.outcome.exposed, answer.outcome.exposed);
  EXPECT_EQ(again.outcome.busy, answer.outcome.busy);
  EXPECT_EQ(again.extrapolated, answer.extrapolated);
  EXPECT_EQ(again.extrapolation_check, answer.extrapolation_check);
  EXPECT_EQ(again.collectives, answer.collectives);
  EXPECT_EQ(again.work, answer.work);
  EXPECT_EQ(again.cpu_s, answer.cpu_s);
  EXPECT_EQ(again.peak_rss_MiB, answer.peak_rss_MiB);
  EXPECT_EQ(again.simgrid, answer.simgrid);
}

TEST(ReplayAnswerJson, KeepsWhoIsInTheGroupsOfAPipeline) {
  ReplayAnswer answer;
  answer.outcome = Outcome({{Axis::data, ""},
                            {Axis::pipe, ""},
                            backward_from(1),
                            backward_from(2),
                            backward_from(0),
                            {Axis::pipe, "ends", Group::ends},
                            forward_from(0, 4),
                            forward_from(1, 4),
                            forward_from(3, 4)});

  const ReplayAnswer again = replay_answer_from_json(to_json(answer));

  EXPECT_EQ(again.outcome.channels, answer.outcome.channels);
}

TEST(ReplayAnswerJson, RefusesNumbersOfAChannelThatCannotBe) {
  ReplayAnswer answer;
  answer.outcome = Outcome(made_up_channels());
  std::string text = to_json(answer);
  for (std::size_t at; (at = text.find("z_gather")) != std::string::npos;) {
    text.replace(at, 8, "w_gather");
  }

  EXPECT_THROW(replay_answer_from_json(text), std::runtime_error);
}

TEST(ReplayAnswerJson, RefusesANegativeTimeOfAnyChannel) {
  for (std::size_t c = 0; c < made_up_channels().size(); ++c) {
    ReplayAnswer answer;
    answer.outcome = Outcome(made_up_channels());
    answer.outcome.busy[c] = {-1e-3};

    EXPECT_THROW(replay_answer_from_json(to_json(answer)), std::runtime_error) << c;
  }
}

TEST(ReplayAnswerJson, RefusesTheEmptyAnswerOfADeadProcess) {
  EXPECT_THROW(replay_answer_from_json(""), std::runtime_error);
}

}  // namespace
}  // namespace fourfold::tests
