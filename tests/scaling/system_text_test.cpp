// Training systems and software in words and as JSON: made-up ones that have every part.
#include "scaling/text/system_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scaling/text/software_text.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/said_entries.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

// Each axis has another pair of what is allowed and what is searched.
System made_up_system() {
  System system;
  system.name = "mine";
  system.title = "A system of the tests";
  system.software = "its-software";
  system.software_source = "a handbook";
  system.stands_in = "another thing is done than it does";
  const std::array<std::pair<AxisExtents, AxisExtents>, axis_count> reaches{
      {{AxisExtents::any, AxisExtents::within_node},
       {AxisExtents::within_node, AxisExtents::one},
       {AxisExtents::any, AxisExtents::one_node},
       {AxisExtents::one, AxisExtents::one},
       {AxisExtents::within_node, AxisExtents::within_node}}};
  for (std::size_t a = 0; a < axis_count; ++a) {
    const std::string source = fmt::format("source {}", a);
    system.axes[a] = {all_axes[a], reaches[a].first, reaches[a].second, source};
  }
  system.options = {
      {"order", std::string("gpipe"), {}, {std::string("gpipe"), std::string("1f1b")}, "one"},
      {"sequence_parallel", true, {true}, {true, false}, "two"},
      {"chunks", std::int64_t{2}, {std::int64_t{2}, std::int64_t{4}}, {std::int64_t{4}}, "three"}};
  system.state = {{"weights", 2, {}, "four"},
                  {"gradients", 4, {Axis::z}, "five"},
                  {"optimizer", 12, {Axis::z, Axis::data}, "six"}};
  system.published_state = 18;
  system.published_state_source = "a paper";
  return system;
}

System without_pipelines() {
  System system = made_up_system();
  system.name = "flat";
  system.stands_in.clear();
  system.axes[static_cast<std::size_t>(Axis::pipe)].allowed = AxisExtents::one;
  system.options.pop_back();
  system.published_state.reset();
  return system;
}

// Every key that a file may have, none with the value of another.
constexpr const char* written = R"(
title = "A system that is written down"
stands_in = "all of it is made up"
software = { name = "its-software", source = "a" }
rank_order = { axes = ["pipe", "data", "z", "y", "x"], source = "b" }
[axes]
x = { allowed = "within the node", searched = "1", source = "c" }
y = { allowed = "any", searched = "one node", source = "d" }
z = { allowed = "one node", source = "e" }
data = { allowed = "any", source = "f" }
pipe = { allowed = "within the node", searched = "one node", source = "g" }
[options]
recompute = { usual = "none", allowed = ["none", "full"], source = "h" }
overlap.all_reduce = { usual = false, searched = [true, false], source = "i" }
overlap.messages = { usual = true, source = "j" }
chunks = { usual = 3, searched = [2, 3], source = "k" }
zero = { usual = 1, allowed = [0, 1, 2], searched = [2], source = "l" }
[state]
weights = { bytes = 2, cut_by = ["x"], source = "m" }
gradients = { bytes = 4, cut_by = [], source = "n" }
optimizer = { bytes = 12, cut_by = ["data", "x"], source = "o" }
published = { bytes = 18, source = "p" }
)";

std::vector<System> all_systems() {
  return {made_up_system(), without_pipelines(), read_from(written, read_system, "written.toml")};
}

TEST(SystemText, IsTheGoldenOne) {
  std::string text = systems_text(all_systems());
  for (const System& system : all_systems()) text += "=====\n" + system_text(system);

  expect_golden("systems.txt", text);
}

// The words of the text are those of the rules.
TEST(SystemJson, HasEveryRule) {
  const nlohmann::json list = nlohmann::json::parse(systems_json(all_systems()));

  const std::vector<System> systems = all_systems();
  ASSERT_EQ(list.size(), systems.size());
  for (std::size_t i = 0; i < systems.size(); ++i) {
    const System& system = systems[i];
    EXPECT_EQ(list[i], nlohmann::json::parse(system_json(system)));
    EXPECT_EQ(list[i].at("axes").size(), axis_count);
    EXPECT_EQ(list[i].at("options").size(), system.options.size());
    EXPECT_EQ(list[i].at("state").size(), system.published_state ? 4U : 3U);
    for (const AxisRule& rule : system.axes) {
      expect_says(list[i].at("axes").at(name(rule.axis)), {{"allowed", name(rule.allowed)},
                                                           {"searched", name(rule.searched)},
                                                           {"source", rule.source}});
    }
    for (const OptionRule& rule : system.options) {
      const nlohmann::json& option = list[i].at("options").at(rule.key);
      EXPECT_EQ(option.at("allowed").size(), rule.allowed.size());
      EXPECT_EQ(option.at("searched").size(), rule.searched.size());
      EXPECT_EQ(option.at("source"), rule.source);
    }
  }
}

Software made_up_software() {
  Software software;
  software.name = "mine";
  software.title = "Software of the tests";
  software.attention = AttentionSoftware::flash_1;
  software.attention_source = "a talk";
  software.tuned_products = true;
  software.products_source = "a handbook";
  software.dispatch = {2.5e-6};
  software.rules = {{"layer_norm", {"read 2 write 2", "2 x read 4 write 2"}, "a paper", false},
                    {"gelu", {}, "a guess", true},
                    {"a_function_whose_name_is_long", {"0.41 ns"}, "measured", true}};
  return software;
}

// What it says of memory is read from its file; the rest of it is not.
constexpr const char* file_of_software = R"(title = "Software of the tests"
attention = { kernel = "unfused", source = "a talk" }
products = { layouts = "default", source = "a handbook" }
dispatch_us = { value = 2.5, source = "a profiler" }
[maps]
)";
constexpr const char* memory_of_software = R"([memory]
casts = { value = 0.5, source = "a profiler" }
context_MiB = { value = 300, source = "a driver", unconfirmed = true }
)";

std::vector<Software> all_software(const TemporaryFolder& folder) {
  Software mine = made_up_software();
  mine.path = folder.file("mine.toml");
  write_content(mine.path, std::string(file_of_software) + memory_of_software);
  Software bare = made_up_software();
  bare.path = folder.file("bare.toml");
  write_content(bare.path, file_of_software);
  bare.name = "bare";
  bare.rules.clear();
  bare.tuned_products = false;
  bare.dispatch = {};
  bare.attention = AttentionSoftware::unfused;
  return {mine, bare};
}

TEST(SoftwareText, IsTheGoldenOne) {
  const TemporaryFolder folder;
  const std::vector<Software> all = all_software(folder);
  std::string text = software_list_text(all);
  for (const Software& software : all) text += "=====\n" + software_text(software);

  expect_golden("software.txt", text);
  const nlohmann::json list = nlohmann::json::parse(software_list_json(all));
  ASSERT_EQ(list.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(list[i], nlohmann::json::parse(software_json(all[i])));
    expect_says(list[i],
                {{"dispatch_s", all[i].dispatch.value},
                 {"name", all[i].name},
                 {"title", all[i].title},
                 {"products", {{"layouts", all[i].tuned_products ? "tuned" : "default"}}}});
  }
  expect_says(list[0].at("memory"), nlohmann::json::parse(R"({"casts": {"value": 0.5},
                                                    "context_MiB": {"unconfirmed": true}})"));
  EXPECT_TRUE(list[1].at("memory").empty());
}

}  // namespace
}  // namespace fourfold::tests
