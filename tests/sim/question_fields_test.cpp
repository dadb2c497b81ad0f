// What goes through JSON between the two programs: every field comes back, of points of every kind,
// is called what it always was, and ends its range where it says.
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
#include "tests/drawn_points.hpp"
#include "tests/edits.hpp"
#include "tests/points.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(const std::function<void()>& call) {
  return tests::refusal<std::exception>(call);
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

TEST(ReplayAnswerJson, IsTheTextThatItAlwaysWasAndComesBack) {
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
  ReplayAnswer was = distinct_answer();
  was.outcome.total = {18.490000000000002};
  was.outcome.busy.front() = {std::numeric_limits<double>::min()};
  EXPECT_EQ(to_json(replay_answer_from_json(to_json(was))), to_json(was));
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
  Point point = made_up_point("frontier", {"mine", 3, 48, 12, 16, 96}, ProcessGrid(2, 1, 3, 4, 5),
                              60, with_micro_batches(7));
  point.scales = {{"nodes", 0.5}, {"network.link_bandwidth_GBps", 2.0}};
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
  // Ranks 0 and 11 lie apart on every axis: the lines of both count.
  EXPECT_THAT(device_classes(grid, {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}).of_rank,
              ElementsAre(0, 1, 2, 3, 3, 4, 4, 3, 3, 2, 1, 0));
}

TEST(DeviceClasses, OfAlikeDevicesAreOneWhoseEndsAndMiddleAreLogged) {
  const DeviceClasses alike = device_classes(ProcessGrid(2, 1, 2, 2), {});

  EXPECT_THAT(alike.names, ElementsAre("all devices"));
  EXPECT_THAT(alike.samples(), ElementsAre(0, 4, 7));
  EXPECT_THAT(device_classes(ProcessGrid(2, 1, 1, 1), {}).samples(), ElementsAre(0, 1));
  EXPECT_THAT(device_classes(ProcessGrid(1, 1, 1, 1), {1.0}).samples(), ElementsAre(0));
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

void expect_same(const Point& is, const Point& was, const std::string& what) {
  EXPECT_EQ(is.platform, was.platform) << what;
  EXPECT_EQ(is.scales, was.scales) << what;
  EXPECT_EQ(is.software, was.software) << what;
  EXPECT_EQ(json_of(is.model), json_of(was.model)) << what;
  EXPECT_EQ(is.grid, was.grid) << what;
  EXPECT_EQ(is.global_batch, was.global_batch) << what;
  if (was.options.precision != Precision::fp32) {  // which leaves no choice to the reductions
    EXPECT_EQ(is.options, was.options) << what;
  }
  WhatIfs what_ifs = was.what_ifs;
  if (!what_ifs.needs_seed()) what_ifs.seed = WhatIfs{}.seed;
  EXPECT_EQ(is.what_ifs, what_ifs) << what;
  EXPECT_EQ(to_json(is), to_json(was)) << what;
}

TEST(Points, ComeBackAsTheyWere) {
  for (std::int64_t number = 0; number < 140; ++number) {
    Point point = drawn_uneven_point(number, 24).point;
    if (number % 3 == 0) point.software = "pytorch-fsdp";

    const Point again = point_from_json(to_json(point));

    expect_same(again, point, std::to_string(number));
  }
}

TEST(Points, OfEveryShapeComeBackAsTheyWere) {
  for (const Model& model : shapes_of(distinct_point().model)) {
    Point point = distinct_point();
    point.model = model;

    const Point again = point_from_json(to_json(point));

    expect_same(again, point, model.name);
    EXPECT_EQ(again.model.kv_heads(), model.kv_heads()) << model.name;
    EXPECT_EQ(again.model.head_columns(), model.head_columns()) << model.name;
    EXPECT_EQ(again.model.rotary.low, model.rotary.low) << model.name;
    EXPECT_EQ(again.model.biases, model.biases) << model.name;
  }
}

TEST(Points, OfWordsThatAreNoneAreRefusedAsAPointIs) {
  const json whole = json::parse(to_json(distinct_point()));
  const auto said = [&](const char* place, const json& value) {
    json changed = whole;
    changed[json::json_pointer(place)] = value;
    return refusal([&] { point_from_json(changed.dump()); });
  };

  EXPECT_THAT(said("/grid", "2x0x1x1"), StartsWith("point: "));
  EXPECT_THAT(said("/grid", "two"), StartsWith("point: "));
  EXPECT_THAT(said("/options/rank_order", "x,x"), StartsWith("point"));
  for (double bad : {0.0, 1e-9, 1e-7, 9.99e-7, 1.01e6, -1.0}) {
    EXPECT_EQ(said("/scales", {{"nodes", bad}}),
              "scales: the factor on 'nodes' must be from 0.000001 to 1000000")
        << bad;
  }
}

TEST(Outcomes, OfStagesAreTheirMeanAndTheLastOneEndsThem) {
  Outcome first(made_up_channels());
  first.total = {10.0};
  first.compute = {4.0};
  first.bubble = {1.0};
  first.exposed[on::x] = {2.0};
  first.busy[on::data] = {8.0};
  Outcome second(made_up_channels());
  second.total = {7.0};
  second.compute = {5.0};
  second.exposed[on::x] = {1.0};
  second.exposed[on::z_gather] = {0.5};
  second.exposed[on::z_reduce] = {0.25};

  const Outcome found = mean({first, second});

  EXPECT_EQ(found.total, Seconds{10.0});
  EXPECT_EQ(mean({second, first}).total, Seconds{10.0});
  EXPECT_EQ(found.compute, Seconds{4.5});
  EXPECT_EQ(found.bubble, Seconds{0.5});
  EXPECT_EQ(found.exposed[on::x], Seconds{1.5});
  EXPECT_EQ(found.busy[on::data], Seconds{4.0});
  EXPECT_EQ(second.exposed_along(Axis::z), Seconds{0.75});
  EXPECT_EQ(second.exposed_along(Axis::x), Seconds{1.0});
  EXPECT_EQ(second.exposed_total(), Seconds{1.75});
  EXPECT_EQ(mean({second}).total, Seconds{7.0});
}

TEST(Answers, SayWhichTimeIsNegative) {
  ReplayAnswer answer;
  answer.outcome = Outcome(made_up_channels());
  for (const char* place :
       {"/total_s", "/compute_s", "/bubble_s", "/exposed_s/x", "/busy_s/data"}) {
    json changed = json::parse(to_json(answer));
    const json::json_pointer key(place);
    changed["outcome"][key] = -1.0;
    EXPECT_EQ(refusal([&] { replay_answer_from_json(changed.dump()); }),
              "'" + key.back() + "' is negative: no such time exists");
  }
}

}  // namespace
}  // namespace fourfold::tests
