// Points of every kind through JSON and back, and what is wrong with a model, a grid or a scale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/question/point_json.hpp"
#include "sim/question/replay_answer.hpp"
#include "tests/channels.hpp"
#include "tests/drawn_points.hpp"
#include "tests/refusal.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using ::testing::StartsWith;

Point plain() {
  Point point;
  point.platform = "crossbar";
  point.model = {"tiny", 3, 48, 12, 16, 96};
  point.grid = ProcessGrid(2, 1, 3, 1);
  point.global_batch = 6;
  return point;
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
  for (const Model& model : shapes_of(plain().model)) {
    Point point = plain();
    point.model = model;

    const Point again = point_from_json(to_json(point));

    expect_same(again, point, model.name);
    EXPECT_EQ(again.model.kv_heads(), model.kv_heads()) << model.name;
    EXPECT_EQ(again.model.head_columns(), model.head_columns()) << model.name;
    EXPECT_EQ(again.model.rotary.low, model.rotary.low) << model.name;
    EXPECT_EQ(again.model.biases, model.biases) << model.name;
  }
}

TEST(Points, OfModelsThatContradictThemselvesAreRefusedInTheirWords) {
  const json whole = json::parse(to_json(plain()));
  const auto said = [&](const std::string& key, const json& value) {
    json changed = whole;
    changed["model"][key] = value;
    return refusal<std::exception>([&] { point_from_json(changed.dump()); });
  };

  EXPECT_EQ(said("name", "other"), "accepted");
  EXPECT_THAT(said("heads", 7), ::testing::HasSubstr("hidden = 48 does not divide into 7 heads"));
  EXPECT_THAT(said("key_value_heads", 5),
              ::testing::HasSubstr("12 heads of queries do not divide among 5 heads of keys and "
                                   "values"));
}

TEST(Points, OfWordsThatAreNoneAreRefusedAsAPointIs) {
  const json whole = json::parse(to_json(plain()));
  const auto said = [&](const char* place, const json& value) {
    json changed = whole;
    changed[json::json_pointer(place)] = value;
    return refusal<std::runtime_error>([&] { point_from_json(changed.dump()); });
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
  const json whole = json::parse(to_json(answer));
  for (const char* key : {"total_s", "compute_s", "bubble_s"}) {
    json changed = whole;
    changed["outcome"][key] = -1.0;
    EXPECT_EQ(refusal<std::runtime_error>([&] { replay_answer_from_json(changed.dump()); }),
              std::string("'") + key + "' is negative: no such time exists");
  }
  for (const char* key : {"exposed_s", "busy_s"}) {
    for (const Channel& channel : made_up_channels()) {
      json changed = whole;
      changed["outcome"][key][name(channel)] = -1.0;
      EXPECT_EQ(refusal<std::runtime_error>([&] { replay_answer_from_json(changed.dump()); }),
                "'" + name(channel) + "' is negative: no such time exists");
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
