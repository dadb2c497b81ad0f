// Fields in JSON: what an older file leaves out, and what nobody may leave out or add.
#include "support/field_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "schedule/models/model.hpp"
#include "schedule/program/step_options.hpp"
#include "support/json_object.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

struct Kettle {
  std::int64_t cups = 4;
  bool whistles = true;
};

std::string refusal(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text);
  try {
    read_fields(JsonObject(value, "the options"), step_fields().facts());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(FieldJson, WithoutAnOptionOfLaterMeansItsDefault) {
  const FieldTable<Kettle> table(
      {number_field<Kettle>({.key = "cups"}, {}, &Kettle::cups),
       on_off_field<Kettle>({.key = "whistles", .optional = true}, {}, &Kettle::whistles)});
  const nlohmann::json old = nlohmann::json::parse(R"({"cups": 9})");

  Kettle kettle;
  table.set(kettle, read_fields(JsonObject(old, "the kettle"), table.facts()));

  EXPECT_EQ(kettle.cups, 9);
  EXPECT_TRUE(kettle.whistles);
}

TEST(FieldJson, IsTheTextThatRecordsHaveAlwaysHad) {
  EXPECT_EQ(
      json_of_values(step_fields().values({})).dump(),
      R"({"attention":"fused","chunks":1,"cut_messages":false,"data_bucket":0,"data_bucket_each":0,"data_reduction":"after-backward","grad_reduce_precision_data":"fp32",)"
      R"("grad_reduce_precision_z":"bf16","gradient_reduction":"per-micro-batch",)"
      R"("in_flight_blocks":2,"layers_per_stage":"even","micro_batches":1,"offload_activations":false,"offload_bucket":0,"order":"1f1b",)"
      R"("overlap":{"across_blocks":true,"all_gather":true,"all_reduce":true,"messages":true,"recompute_gather":true,"reduce_scatter":true},"pad_vocabulary":0,)"
      R"("pipeline_limit":0,"precision":"bf16","products":"stored","rank_order":"x,y,z,data,pipe","recompute":"full","recompute_every":1,"recompute_layers":0,)"
      R"("sequence_parallel":false,"weight_gather":"per-micro-batch","weight_gather_precision":"bf16","zero":0})");
  EXPECT_EQ(json_of_values(model_record_fields().values({"mine", 2, 48, 12, 8, 96})).dump(),
            R"({"heads":12,"hidden":48,"layers":2,"name":"mine","sequence":8,"vocabulary":96})");
}

TEST(FieldJson, RefusesInWordsWithThePlace) {
  EXPECT_EQ(refusal(R"({"recompte": "full"})"),
            "the options: unknown key 'recompte'; did you mean \"recompute\"?");
  EXPECT_EQ(refusal("{}"), "the options: key 'micro_batches' is missing");
  const nlohmann::json whole = json_of_values(step_fields().values({}));
  nlohmann::json changed = whole;
  changed["overlap"]["all_gather"] = "yes";
  EXPECT_EQ(refusal(changed.dump()), "the options, 'overlap': 'all_gather' must be true or false");
  changed = whole;
  changed["in_flight_blocks"] = 1001;
  EXPECT_THAT(refusal(changed.dump()), HasSubstr("the options: in_flight_blocks = 1001, but"));
  const nlohmann::json alone = nlohmann::json{{"in_flight_blocks", 1001}};
  EXPECT_THROW(read_given_fields(JsonObject(alone, "the options"), step_fields().facts()),
               std::runtime_error);
}

}  // namespace
}  // namespace fourfold::tests
