// Options that others leave nothing to do: what is listed so changes no step, and a campaign whose
// points have no use for it is refused at its line.
#include "schedule/program/without_effect.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scaling/study/campaign.hpp"
#include "schedule/fold/short_folds.hpp"
#include "support/field_json.hpp"
#include "support/json_object.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

// An option, another one with which it is idle, and one with which it is not, as TOML and JSON have
// them.
struct Pair {
  std::string key, value, by, idle, used;
};

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all{
      {"recompute_every", "2", "recompute", "\"none\"", "\"full\""},
      {"recompute_layers", "1", "recompute", "\"none\"", "\"mlp\""},
      {"offload_activations", "true", "recompute", "\"norms\"", "\"full\""},
      {"grad_reduce_precision_z", "\"fp32\"", "precision", "\"fp32\"", "\"bf16\""},
      {"grad_reduce_precision_data", "\"bf16\"", "precision", "\"fp32\"", "\"bf16\""},
      {"grad_reduce_precision_data", "\"bf16\"", "zero", "2", "1"},
      {"cut_messages", "true", "sequence_parallel", "true", "false"},
      {"in_flight_blocks", "3", "overlap.reduce_scatter", "false", "true"}};
  return all;
}

StepOptions with(StepOptions options, const std::string& key, const std::string& value) {
  nlohmann::json entry;
  std::string place = "/" + key;
  std::ranges::replace(place, '.', '/');
  entry[nlohmann::json::json_pointer(place)] = nlohmann::json::parse(value);
  step_fields().set(options,
                    read_given_fields(JsonObject(entry, "an option"), step_fields().facts()));
  return options;
}

// On a grid that has all axes, where each option has something to do.
std::vector<Folded> steps_of(const StepOptions& options) {
  const Model model{"small", 8, 64, 4, 16, 128};
  return folded_stages(model, options, 2);
}

TEST(WithoutEffect, IsWhatChangesNoStepAndIsSaid) {
  for (const Pair& one : pairs()) {
    SCOPED_TRACE(one.key + " by " + one.by);
    const StepOptions idle = with({}, one.by, one.idle), used = with({}, one.by, one.used);

    const auto why = why_without_effect(one.key, with(idle, one.key, one.value));

    ASSERT_TRUE(why);
    EXPECT_EQ(why->by, one.by);
    EXPECT_EQ(steps_of(with(idle, one.key, one.value)), steps_of(idle));
    EXPECT_FALSE(why_without_effect(one.key, with(used, one.key, one.value)));
    EXPECT_NE(steps_of(with(used, one.key, one.value)), steps_of(used));
  }
}

// Gathers of recompute stand in steps that gather weights anew in it.
TEST(WithoutEffect, IsAnOverlapOfGathersThatAreNotMadeAnew) {
  for (const char* recompute : {"full", "none", "selective", "mlp", "norms"}) {
    SCOPED_TRACE(recompute);
    StepOptions options = with({}, "recompute", fmt::format("\"{}\"", recompute));
    options.overlap.all_reduce = false;
    StepOptions without = options;
    without.overlap.recompute_gather = false;

    EXPECT_EQ(why_without_effect("overlap.recompute_gather", options).has_value(),
              steps_of(options) == steps_of(without));
    EXPECT_FALSE(why_without_effect("overlap.recompute_gather", without));
  }
}

std::string table_of(const std::string& key, const std::string& value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return fmt::format("{} = {}", key, value);
  return fmt::format("{} = {{ {} = {} }}", key.substr(0, dot), key.substr(dot + 1), value);
}

// What is said of a campaign with these lines behind its head of three, and these points.
std::string said_of(const std::string& lines, const std::string& of_machine = "",
                    const std::string& of_point = "") {
  const std::string text = "title = \"t\"\nbatch_tokens = 65_536\nfidelity = \"estimated\"\n" +
                           lines + "[[machine]]\nplatform = \"frontier\"\n" + of_machine +
                           "points = [\n  { devices = 16, model = \"gpt-5b\"" + of_point + " }]\n";
  const std::string said = refusal<std::runtime_error>(
      [&] { read_from(text, [](const std::string& path) { return read_campaign(path); }); });
  return said.substr(said.find("c.toml") == std::string::npos ? 0 : said.find("c.toml") + 6);
}

TEST(IdleOptionsOfCampaigns, AreRefusedAtTheirLineUnlessAPointPutsThemToUse) {
  for (const Pair& one : pairs()) {
    const std::string option = table_of(one.key, one.value) + '\n';
    const std::string by = table_of(one.by, one.idle) + '\n';
    const std::string sweep =
        fmt::format("[[sweep]]\nkey = \"options.{}\"\nvalues = [{}", one.by, one.idle);
    const std::string of_file = "options = { " + table_of(one.key, one.value) + " }\n";
    SCOPED_TRACE(option + by);

    const std::string why =
        fmt::format("'{}' cannot take effect on any point: {} = {} ", one.key, one.by, one.idle);
    EXPECT_THAT(said_of("[options]\n" + by + option), HasSubstr(", line 6: " + why));
    EXPECT_THAT(said_of("[options]\n" + by, of_file), HasSubstr(", line 8: " + why));
    EXPECT_THAT(
        said_of("[options]\n" + by, "", ", options = { " + table_of(one.key, one.value) + " }"),
        HasSubstr(", line 9: " + why));
    EXPECT_THAT(said_of(fmt::format("[options]\n{}[[sweep]]\nkey = \"options.{}\"\nvalues = [{}]\n",
                                    by, one.key, one.value)),
                HasSubstr(fmt::format(", line 7: 'options.{}' cannot take", one.key)));
    EXPECT_THAT(said_of("[options]\n" + option + sweep + "]\n"), HasSubstr(", line 5: " + why));
    EXPECT_EQ(said_of("[options]\n" + option + sweep + ", " + one.used + "]\n"), "accepted");
  }
}

// Each place of its own: what a machine says is idle though another machine's is put to use.
TEST(IdleOptionsOfCampaigns, AreLookedForWhereTheyAreWritten) {
  const std::string other =
      "[[machine]]\nplatform = \"perlmutter\"\noptions = { recompute = \"full\", recompute_every = "
      "2 }\npoints = [{ devices = 16, model = \"gpt-5b\" }]\n";
  EXPECT_THAT(said_of(other, "options = { recompute = \"none\", recompute_every = 2 }\n"),
              HasSubstr(", line 10: 'recompute_every' cannot take effect"));
  EXPECT_EQ(
      said_of("[options]\nrecompute_every = 2\n" + other, "options = { recompute = \"none\" }\n"),
      ", line 5: 'recompute_every' cannot take effect on any point: recompute = \"none\" "
      "recomputes no layer");
}

// A text that says nothing is none.
TEST(Campaigns, RefuseEmptyTexts) {
  for (const char* key : {"system", "software", "grids_by", "axis", "published_csv"}) {
    EXPECT_EQ(said_of(fmt::format("{} = \"\"\n", key)),
              fmt::format(", line 4: '{}' is empty; say something, or leave it out", key));
  }
}

}  // namespace
}  // namespace fourfold::tests
