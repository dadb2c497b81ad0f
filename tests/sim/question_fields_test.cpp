// What goes through JSON between the two programs: every field comes back, is called what it always
// was, and ends its range where it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/conditions/conditions.hpp"
#include "sim/conditions/device_classes.hpp"
#include "sim/question/channel_json.hpp"
#include "sim/question/outcome_json.hpp"
#include "sim/question/point_json.hpp"
#include "sim/question/replay_answer.hpp"
#include "tests/channels.hpp"
#include "tests/edits.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

ReplayAnswer distinct_answer() {
  ReplayAnswer answer;
  answer.outcome = Outcome(made_up_channels());
  answer.outcome.channels.push_back(backward_from(1));
  answer.outcome.channels.push_back(forward_from(0, 2));
  const std::size_t channels = answer.outcome.channels.size();
  answer.outcome.exposed.resize(channels);
  answer.outcome.busy.resize(channels);
  answer.outcome.total = {20.5};
  answer.outcome.compute = {10.25};
  answer.outcome.bubble = {0.375};
  for (std::size_t c = 0; c < channels; ++c) {
    answer.outcome.exposed[c] = {0.1 + static_cast<double>(c)};
    answer.outcome.busy[c] = {0.2 + static_cast<double>(c)};
  }
  answer.extrapolated = true;
  answer.extrapolation_check = 1.5e-4;
  answer.collectives = 1234;
  answer.work = 98'765;
  answer.cpu_s = 1.75;
  answer.peak_rss_MiB = 70.5;
  answer.simgrid = "3.32";
  ReplayDetail& detail = answer.detail.emplace();
  detail.links = {{"NIC", {25e9}, 64, {3e12}, 0.125, "node 3 nic 1 out", {5.5e10}, 0.875}};
  detail.flights = {{{0.01}, {0.02}}, {{0.03}, {0.05}}};
  ClassUse& use = detail.classes.emplace_back();
  use.name = "the slow device";
  use.devices = 3;
  use.compute = {2.5};
  for (std::size_t c = 0; c < channels; ++c) {
    use.exposed.push_back({0.3 + static_cast<double>(c)});
    use.late.push_back({0.4 + static_cast<double>(c)});
  }
  detail.latecomers = {{8, {0.625}}, {3, {0.5}}};
  detail.longest_compute = {2.75};
  detail.logged = {{3, 1}, {2}};
  DeviceTimeline& one = detail.timelines.emplace_back();
  one.rank = 8;
  one.name = "the slow device";
  one.log.arrive = {0.1, 0.2};
  one.log.leave = {0.15, 0.25};
  one.log.marks = {0.3};
  one.log.flights = {{{0.01, 0.02}}, {}, {{0.03, 0.04}, {0.05, 0.06}}};
  one.log.end = 0.5;
  one.log.turns = {StepPart::forward, StepPart::backward};
  return answer;
}

TEST(ReplayAnswerJson, IsTheTextThatItAlwaysWas) {
  EXPECT_EQ(
      to_json(distinct_answer()),
      R"({"collectives":1234,"cpu_s":1.75,"detail":{"device_classes":[{"class":"the slow device",)"
      R"("compute_s":2.5,"devices":3,"exposed_s":{"data":4.3,"pipe_backward_even":5.3,)"
      R"("pipe_forward_even":6.3,"x":0.3,"y":1.3,"z_gather":2.3,"z_reduce":3.3},)"
      R"("waiting_for_later_devices_s":{"data":4.4,"pipe_backward_even":5.4,"pipe_forward_even":6.4,)"
      R"("x":0.4,"y":1.4,"z_gather":2.4,"z_reduce":3.4}}],"flights":[{"longest_s":0.02,)"
      R"("mean_s":0.01},{"longest_s":0.05,"mean_s":0.03}],"latecomers":[{"rank":8,)"
      R"("waited_for_s_per_device":0.625},{"rank":3,"waited_for_s_per_device":0.5}],)"
      R"("links":[{"all_B":3000000000000.0,"busiest":"node 3 nic 1 out",)"
      R"("busiest_B":55000000000.0,"busiest_utilisation":0.875,)"
      R"("capacity_B_per_s":25000000000.0,"class":"NIC","links":64,"mean_utilisation":0.125}],)"
      R"("logged":{"cycles":[2],"runs":[3,1]},"longest_compute_s":2.75,"timelines":[)"
      R"({"arrive_s":[0.1,0.2],"class":"the slow device","end_s":0.5,"flights_s":[[[0.01,0.02]],)"
      R"([],[[0.03,0.04],[0.05,0.06]]],"leave_s":[0.15,0.25],"marks_s":[0.3],"rank":8,"turns":"FB"}]},)"
      R"("extrapolated":true,"extrapolation_check":0.00015,"outcome":{"bubble_s":0.375,)"
      R"("busy_s":{"data":4.2,"pipe_backward_even":5.2,"pipe_forward_even":6.2,"x":0.2,"y":1.2,)"
      R"("z_gather":2.2,"z_reduce":3.2},"compute_s":10.25,"exposed_s":{"data":4.1,)"
      R"("pipe_backward_even":5.1,"pipe_forward_even":6.1,"x":0.1,"y":1.1,"z_gather":2.1,)"
      R"("z_reduce":3.1},"total_s":20.5},"peak_rss_MiB":70.5,"simgrid":"3.32","work":98765})");
}

TEST(ReplayAnswerJson, ComesBackFieldByField) {
  ReplayAnswer was = distinct_answer();
  was.outcome.total = {18.490000000000002};
  was.outcome.busy.front() = {std::numeric_limits<double>::min()};

  const ReplayAnswer is = replay_answer_from_json(to_json(was));

  EXPECT_EQ(to_json(is), to_json(was));
  EXPECT_EQ(is.outcome.channels, was.outcome.channels);
  EXPECT_EQ(is.outcome.exposed, was.outcome.exposed);
  EXPECT_EQ(is.outcome.busy, was.outcome.busy);
  EXPECT_EQ(is.outcome.bubble, was.outcome.bubble);
  EXPECT_TRUE(is.extrapolated);
  EXPECT_EQ(is.extrapolation_check, 1.5e-4);
  EXPECT_EQ(is.collectives, 1234);
  EXPECT_EQ(is.work, 98'765);
  EXPECT_EQ(is.cpu_s, 1.75);
  EXPECT_EQ(is.peak_rss_MiB, 70.5);
  ASSERT_TRUE(is.detail.has_value());
  EXPECT_EQ(is.detail->links[0].links, 64);
  EXPECT_EQ(is.detail->flights[1].longest, Seconds{0.05});
  EXPECT_EQ(is.detail->classes[0].late, was.detail->classes[0].late);
  EXPECT_EQ(is.detail->classes[0].devices, 3);
  EXPECT_EQ(is.detail->latecomers[1].rank, 3);
  EXPECT_EQ(is.detail->longest_compute, Seconds{2.75});
  EXPECT_EQ(is.detail->logged.runs, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(is.detail->logged.cycles, std::vector<std::int64_t>{2});
  const DeviceLog& log = is.detail->timelines.at(0).log;
  EXPECT_EQ(log.leave, (std::vector<double>{0.15, 0.25}));
  EXPECT_EQ(log.flights[2][1].finish, 0.06);
  EXPECT_EQ(log.end, 0.5);
}

TEST(ReplayAnswerJson, EditedIsRefusedOrAnotherAnswer) {
  edits::Sentences said;
  edits::expect_sound(
      {"",
       json::parse(to_json(distinct_answer())),
       [](const json& edited) { return to_json(replay_answer_from_json(edited.dump())); },
       {"left out /(detail|outcome/bubble_s)", "negative .*", "huge .*", "empty .*",
        "with a strange key /detail/logged"},
       // Counts are whole; a flight is its first two numbers.
       {"with a strange key /detail/logged", "a half more /detail/logged/.*",
        "the last twice /detail/timelines/0/flights_s/./.", "misspelled /detail/timelines/0/turns"},
       false},
      said);
}

Point distinct_point() {
  Point point;
  point.platform = "frontier";
  point.scales = {{"nodes", 0.5}, {"network.link_bandwidth_GBps", 2.0}};
  point.model = {"mine", 3, 48, 12, 16, 96};
  point.grid = ProcessGrid(2, 1, 3, 4, 5);
  point.global_batch = 60;
  point.options.micro_batches = 7;
  point.what_ifs.jitter_percent = 2.5;
  return point;
}

TEST(PointJson, IsTheTextThatItAlwaysWasAndComesBack) {
  json text = json::parse(to_json(distinct_point()));
  text.erase("options");

  EXPECT_EQ(text.dump(),
            R"({"global_batch_sequences":60,"grid":"x=2,z=3,data=4,pipe=5","model":{"heads":12,)"
            R"("hidden":48,"layers":3,"name":"mine","sequence":16,"vocabulary":96},)"
            R"("platform":"frontier","scales":{"network.link_bandwidth_GBps":2.0,"nodes":0.5},)"
            R"("what_ifs":{"collective":"auto","jitter":"2.5%","placement":"packed","seed":1}})");
  const Point again = point_from_json(to_json(distinct_point()));
  EXPECT_EQ(to_json(again), to_json(distinct_point()));
  EXPECT_EQ(again.grid, distinct_point().grid);
  EXPECT_EQ(again.global_batch, 60);
  EXPECT_EQ(again.options.micro_batches, 7);
  EXPECT_EQ(again.scales, distinct_point().scales);
}

TEST(PointJson, EndsItsRangesWhereItSays) {
  const json whole = json::parse(to_json(distinct_point()));
  const auto with = [&](const char* place, const json& value) {
    json changed = whole;
    changed[json::json_pointer(place)] = value;
    return refusal([&] { point_from_json(changed.dump()); });
  };

  EXPECT_EQ(with("/scales/nodes", 1e6), "accepted");
  EXPECT_EQ(with("/scales/nodes", 1e-6), "accepted");
  EXPECT_THAT(with("/scales/nodes", 1.0001e6), HasSubstr("must be from 0.000001 to"));
  EXPECT_THAT(with("/scales/nodes", 0.9999e-6), HasSubstr("must be from 0.000001 to"));
  EXPECT_NE(with("/scales/nodes", 0.0), "accepted");
  EXPECT_NE(with("/global_batch_sequences", 0), "accepted");
  EXPECT_EQ(with("/global_batch_sequences", most_batch_tokens / 16), "accepted");
  EXPECT_THAT(with("/global_batch_sequences", most_batch_tokens / 16 + 1),
              HasSubstr("tokens that are counted"));
  EXPECT_EQ(with("/model/layers", most_layers), "accepted");
  EXPECT_NE(with("/model/layers", most_layers + 1), "accepted");
  json wide = whole["model"];
  wide["hidden"] = most_hidden;
  wide["heads"] = 16;
  EXPECT_EQ(with("/model", wide), "accepted");
  EXPECT_NE(with("/model/hidden", most_hidden + 1), "accepted");
  EXPECT_EQ(with("/model/vocabulary", most_vocabulary), "accepted");
  EXPECT_NE(with("/model/vocabulary", most_vocabulary + 1), "accepted");
  EXPECT_NE(with("/model/sequence", most_sequence + 1), "accepted");
  EXPECT_NE(with("/model/heads", 0), "accepted");
  EXPECT_NE(with("/grid", "2x2"), "accepted");
  EXPECT_NE(with("/stranger", 1), "accepted");
  json old = whole;
  old.erase("what_ifs");  // older points know none
  EXPECT_EQ(point_from_json(old.dump()).what_ifs, WhatIfs{});
}

TEST(ChannelJson, KnowsEveryNameThatChannelsHave) {
  std::vector<Channel> channels = made_up_channels();
  channels.push_back({Axis::data, "gather"});
  for (const Channel& one :
       {forward_from(0, 3), forward_from(1, 3), forward_from(2, 3), backward_from(0),
        backward_from(1), backward_from(2), Channel{Axis::pipe, "ends", Group::ends}}) {
    if (std::ranges::find(channels, one) == channels.end()) channels.push_back(one);
  }
  std::ranges::sort(channels, in_order);
  std::vector<Seconds> seconds;
  for (std::size_t i = 0; i < channels.size(); ++i)
    seconds.push_back({1.5 + static_cast<double>(i)});
  const json object = json_by_channel(channels, seconds);

  EXPECT_EQ(channels_in(object), channels);
  EXPECT_EQ(read_by_channel<Seconds>(JsonObject(object, "seconds"), channels), seconds);
  EXPECT_THAT(refusal([] {
                channels_in(json{{"w_gather", 1.0}});
              }),
              HasSubstr("'w_gather' is no channel"));
  EXPECT_NE(refusal([] { channels_in(json::array({1})); }), "accepted");
}

TEST(DeviceClasses, AreTheSlowDevicesThenTheirLinesAxisByAxis) {
  const ProcessGrid grid(2, 1, 2, 3);
  std::vector<double> factors(12, 1.0);
  factors[5] = 2.0;

  const DeviceClasses one = device_classes(grid, factors);

  EXPECT_THAT(one.names, ElementsAre("the slow device", "in a group along x with it",
                                     "in a group along z with it", "in a group along data with it",
                                     "all others"));
  // Rank 5 is at x = 1, z = 0, data = 1.
  EXPECT_THAT(one.of_rank, ElementsAre(4, 3, 4, 4, 1, 0, 4, 2, 4, 3, 4, 4));
  EXPECT_THAT(one.samples(), ElementsAre(5, 4, 7, 1, 0));
  factors[4] = 1.5;
  const DeviceClasses two = device_classes(grid, factors);
  EXPECT_THAT(two.names, ElementsAre("the slow devices", "in a group along z with one of them",
                                     "in a group along data with one of them", "all others"));
}

TEST(DeviceClasses, OfAlikeDevicesAreOneWhoseEndsAndMiddleAreLogged) {
  const DeviceClasses alike = device_classes(ProcessGrid(2, 1, 2, 2), {});

  EXPECT_THAT(alike.names, ElementsAre("all devices"));
  EXPECT_THAT(alike.samples(), ElementsAre(0, 4, 7));
  EXPECT_THAT(device_classes(ProcessGrid(2, 1, 1, 1), {}).samples(), ElementsAre(0, 1));
  EXPECT_THAT(device_classes(ProcessGrid(1, 1, 1, 1), {1.0}).samples(), ElementsAre(0));
}

WhatIfs read(const std::string& text) {
  const json value = json::parse(text);
  return read_what_ifs(JsonObject(value, "what-ifs"));
}

TEST(WhatIfWords, EndTheirRangesWhereTheySay) {
  const auto said = [](const std::string& text) { return refusal([&] { read(text); }); };
  for (const char* good :
       {R"({"jitter": "100%"})", R"({"jitter": "0.001%"})", R"({"slow_devices": "1:0.999"})",
        R"({"slow_devices": "1000000000:0.5"})", R"({"slow_devices": "0=0.5"})",
        R"({"degrade": ["nic:0.0=0.001"]})", R"({"fail": ["global:0-1=1000000"]})",
        R"({"placement": "nodes=0"})", R"({"placement": "devices=7-7"})",
        R"({"jitter": "1%", "seed": 0})", R"({"placement": "random", "seed": 7})"}) {
    EXPECT_EQ(said(good), "accepted") << good;
  }
  for (const char* bad :
       {R"({"jitter": "100.1%"})", R"({"jitter": "-1%"})", R"({"jitter": "%"})",
        R"({"jitter": "nan%"})", R"({"slow_devices": "1:0"})", R"({"slow_devices": "1.5:0.5"})",
        R"({"slow_devices": "1000000001:0.5"})", R"({"slow_devices": "=0.5"})",
        R"({"slow_devices": "1:1"})", R"({"degrade": ["=0.5"]})", R"({"degrade": ["nic:0.0=1"]})",
        R"({"degrade": ["nic:0.0=0"]})", R"({"fail": ["=1"]})", R"({"fail": ["global:0-1=0"]})",
        R"({"fail": ["global:0-1=1000001"]})", R"({"placement": "nodes=3-2"})",
        R"({"placement": "packed=1"})", R"({"placement": "nodes=0-10000000"})",
        R"({"placement": "spread", "seed": 7})"}) {
    EXPECT_NE(said(bad), "accepted") << bad;
  }
}

TEST(WhatIfWords, NumbersAreWrittenAsRangesAndReadBack) {
  for (const std::vector<std::int64_t>& numbers :
       {std::vector<std::int64_t>{0}, {0, 1}, {5, 3, 4, 5, 9}, {7, 6, 5}, {1, 2, 3, 10, 11, 2}}) {
    EXPECT_EQ(numbers_in(words_of(numbers)), numbers) << words_of(numbers);
  }
  EXPECT_EQ(words_of({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(numbers_in("0-9999999").size(), 10'000'000U);
}

TEST(WhatIfSentences, SayEachWhatIfInItsNumbers) {
  const auto sentences_of = [](const std::string& text) { return sentences(read(text), 16); };

  EXPECT_THAT(sentences_of(R"({"placement": "spread"})"),
              ElementsAre("nodes are dealt out to the groups of the network in turn"));
  EXPECT_THAT(sentences_of(R"({"placement": "random", "seed": 4})"),
              ElementsAre("nodes are drawn at random from the whole machine (seed 4)"));
  EXPECT_THAT(sentences_of(R"({"placement": "nodes=0-7"})"),
              ElementsAre("the job lies on nodes 0, 1, 2, 3, 4, 5, 6, 7"));
  EXPECT_THAT(sentences_of(R"({"placement": "devices=0-8"})"),
              ElementsAre("the job lies on devices 0, 1, 2, 3, 4, 5, 6, 7 and 1 more"));
  EXPECT_THAT(sentences_of(R"({"jitter": "2.5%", "seed": 3})"),
              ElementsAre("compute steps vary by 2.5 % (standard deviation, lognormal, by rank and "
                          "step; seed 3)"));
  EXPECT_THAT(sentences_of(R"({"slow_devices": "2:0.5"})"),
              ElementsAre("2 devices compute at 0.5 of the speed: ranks 4, 12"));
  EXPECT_THAT(sentences_of(R"({"slow_devices": "17=0.25"})"),
              ElementsAre("device 17 computes at 0.25 of the speed"));
  EXPECT_THAT(sentences_of(R"({"slow_devices": "17,3=0.25"})"),
              ElementsAre("devices 17, 3 compute at 0.25 of the speed"));
  EXPECT_THAT(sentences_of(R"({"degrade": ["nic:1.1=0.5"], "fail": ["nic:1.2", "global:0-1=3"]})"),
              ElementsAre("link nic:1.1 has 0.5 of its bandwidth", "1 cable of link nic:1.2 failed",
                          "3 cables of link global:0-1 failed"));
  EXPECT_THAT(sentences_of("{}"), IsEmpty());
}

TEST(Conditions, JitterOfNoneAndOfAPercentage) {
  WhatIfs what_ifs;
  EXPECT_TRUE(jitter_of(what_ifs).none());
  what_ifs.jitter_percent = 10.0;
  what_ifs.seed = 5;
  const Jitter expected(0.1, 5);
  for (int step = 0; step < 20; ++step) {
    EXPECT_EQ(jitter_of(what_ifs).factor(3, step), expected.factor(3, step));
  }
}

// fp32 throughout leaves no choice of precision to the reductions, and the record says so.
TEST(PointJson, CarriesFp32ThroughoutWithTheReductionsItMeans) {
  Point point = distinct_point();
  point.options.precision = Precision::fp32;
  point.options.grad_reduce_precision_z = Precision::bf16;
  point.options.grad_reduce_precision_data = Precision::bf16;

  const StepOptions again = point_from_json(to_json(point)).options;

  EXPECT_EQ(again.precision, Precision::fp32);
  EXPECT_EQ(again.grad_reduce_precision_z, Precision::fp32);
  EXPECT_EQ(again.grad_reduce_precision_data, Precision::fp32);
}

TEST(PointJson, IsOneLineAndNoOtherText) {
  const auto said = [](const std::string& text) { return refusal([&] { point_from_json(text); }); };

  EXPECT_EQ(to_json(distinct_point()).find('\n'), std::string::npos);
  EXPECT_THAT(said("{\"platform\":"), HasSubstr("is no JSON: '{\"platform\":'"));
  EXPECT_THAT(said("one\ntwo"), HasSubstr("is no JSON: 'one...'"));
  EXPECT_THAT(said("[]"), HasSubstr("object is expected, not array"));
  EXPECT_THROW(replay_answer_from_json(""), std::runtime_error);  // of a dead process
}

}  // namespace
}  // namespace fourfold::tests
