// The rules of systems against brute force: which grids lie within nodes, which options are
// searched, what is typed over them; and what a file of one's own may say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "scaling/records/question.hpp"
#include "scaling/systems/rules.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/paths.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// All axes have the same reach.
System system_of(AxisExtents allowed, AxisExtents searched) {
  System system;
  system.name = "mine";
  for (std::size_t a = 0; a < axis_count; ++a) {
    system.axes[a] = {all_axes[a], allowed, searched, fmt::format("source {}", a)};
  }
  return system;
}

// Whether no group of the axis, listed rank by rank, has members in two nodes, on nodes one after
// the other that the job fills from the first on, whichever device of the first node it starts on
// as a whole number of groups.
bool groups_lie_in_nodes(const ProcessGrid& grid, const RankOrder& order, Axis axis,
                         std::int64_t node_devices) {
  const std::int64_t distance = order.distance(grid, axis), extent = grid.extent(axis);
  if (extent == 1) return true;
  const std::int64_t span = distance * extent;
  // As many whole spans as make a multiple of the node.
  for (std::int64_t start = 0; start < span * node_devices; start += span) {
    for (std::int64_t inner = 0; inner < distance; ++inner) {
      const std::int64_t first = start + inner;
      const std::int64_t last = first + distance * (extent - 1);
      if (first / node_devices != last / node_devices) return false;
    }
  }
  return true;
}

TEST(SystemRules, GroupsWithinANodeAreThoseThatNoNodeParts) {
  const System system = system_of(AxisExtents::within_node, AxisExtents::within_node);
  const RankOrder outermost = RankOrder::parse("pipe,data,z,y,x");
  int within = 0, apart = 0;
  for (std::int64_t node_devices : {1, 4, 6, 8}) {
    for (std::int64_t x : {1, 2, 3, 4, 6}) {
      for (std::int64_t y : {1, 2, 3}) {
        for (std::int64_t pipe : {1, 2, 4}) {
          const ProcessGrid grid(x, y, 1, 1, pipe);
          for (const RankOrder& order : {RankOrder{}, outermost}) {
            const bool expected = std::ranges::all_of(all_axes, [&](Axis axis) {
              return groups_lie_in_nodes(grid, order, axis, node_devices);
            });
            EXPECT_EQ(searches(system, grid, order, node_devices), expected)
                << grid.str() << " on nodes of " << node_devices;
            EXPECT_EQ(forbidden(system, grid, order, node_devices).empty(), expected);
            ++(expected ? within : apart);
          }
        }
      }
    }
  }
  EXPECT_GT(within, 30);
  EXPECT_GT(apart, 100);
}

TEST(SystemRules, OfGridsSayWhatWouldBeRight) {
  const ProcessGrid grid(1, 8, 1, 2);
  for (const auto& [allowed, why] :
       {std::pair{AxisExtents::any, ""},
        {AxisExtents::within_node,
         "mine does not run on grid 1x8x1x2: y is 8, but its groups must lie within a node of 4 "
         "devices (source 1)"},
        {AxisExtents::one_node,
         "mine does not run on grid 1x8x1x2: x is 1, but it must be the 4 devices of a node "
         "(source 0)"}}) {
    EXPECT_EQ(forbidden(system_of(allowed, AxisExtents::one), grid, {}, 4), why);
  }
  // What is searched is no matter of what is allowed, and the other way round.
  EXPECT_FALSE(searches(system_of(AxisExtents::any, AxisExtents::one), grid, {}, 4));
  EXPECT_TRUE(searches(system_of(AxisExtents::one, AxisExtents::any), grid, {}, 4));
}

OptionRule rule(const std::string& key, const FieldValue& usual,
                const std::vector<FieldValue>& searched,
                const std::vector<FieldValue>& allowed = {}) {
  return {key, usual, allowed, searched, "source of " + key};
}

FieldValue number(std::int64_t value) {
  return value;
}

FieldValue word(const char* text) {
  return std::string(text);
}

TEST(SystemRules, SearchEveryCombinationOnceTheUsualOneFirst) {
  System system = system_of(AxisExtents::any, AxisExtents::any);
  system.options = {rule("zero", number(1), {number(0), number(1), number(2)}),
                    rule("sequence_parallel", true, {true, false}),
                    rule("order", word("interleaved"), {word("interleaved")}),
                    rule("chunks", number(2), {number(4), number(3)})};

  const std::vector<StepOptions> all = variants(system, {});

  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(all[0].zero, 1);
  EXPECT_TRUE(all[0].sequence_parallel);
  std::set<std::tuple<std::int64_t, bool, std::int64_t>> seen;
  for (const StepOptions& one : all) {
    seen.emplace(one.zero, one.sequence_parallel, one.chunks);
    EXPECT_GE(one.chunks, 3) << "the usual number is not listed";
  }
  EXPECT_EQ(seen.size(), 12U);
  const std::vector<StepOptions> typed =
      variants(system, {{"zero", number(3)}, {"in_flight_blocks", number(4)}});
  ASSERT_EQ(typed.size(), 4U);
  for (const StepOptions& one : typed) {
    EXPECT_EQ(one.zero, 3);
    EXPECT_EQ(one.in_flight_blocks, 4);
  }
  EXPECT_EQ(variants(system, {{"order", word("1f1b")}})[0].chunks, 1);
}

// Chunks and the interleaved order go together, unless both are typed otherwise.
TEST(SystemRules, LeaveOutChunksOfOtherOrders) {
  System system = system_of(AxisExtents::any, AxisExtents::any);
  system.options = {
      rule("order", word("interleaved"), {word("interleaved"), word("1f1b"), word("gpipe")}),
      rule("chunks", number(2), {number(1), number(2), number(4)})};
  const auto found = [&](const FieldValues& typed) {
    std::vector<std::string> words;
    for (const StepOptions& one : variants(system, typed)) {
      words.push_back(fmt::format("{} {}", name(one.order), one.chunks));
    }
    std::ranges::sort(words);
    return words;
  };

  EXPECT_THAT(found({}), ElementsAre("1f1b 1", "gpipe 1", "interleaved 2", "interleaved 4"));
  EXPECT_THAT(found({{"order", word("interleaved")}}),
              ElementsAre("interleaved 2", "interleaved 4"));
  EXPECT_THAT(found({{"order", word("gpipe")}}), ElementsAre("gpipe 1"));
  EXPECT_THAT(found({{"chunks", number(4)}}), ElementsAre("interleaved 4"));
  EXPECT_THAT(found({{"chunks", number(1)}}), ElementsAre("1f1b 1", "gpipe 1"));
  EXPECT_THAT(found({{"order", word("1f1b")}, {"chunks", number(4)}}), ElementsAre("1f1b 4"));
  EXPECT_THAT(found({{"order", word("interleaved")}, {"chunks", number(1)}}),
              ElementsAre("interleaved 1"));
}

TEST(SystemRules, OfOptionsSayWhatWouldBeRight) {
  System system = system_of(AxisExtents::any, AxisExtents::any);
  system.options = {
      rule("recompute", word("full"), {word("full")}, {word("full"), word("selective")}),
      rule("sequence_parallel", false, {false}, {false}),
      rule("zero", number(0), {number(0)}, {number(0), number(2)})};
  for (const auto& [typed, why] : std::vector<std::pair<FieldValues, const char*>>{
           {{}, "accepted"},
           {{{"zero", number(2)}}, "accepted"},
           {{{"zero", number(1)}},
            "mine does not do zero 1: --zero must be 0 or 2 (source of zero)"},
           {{{"sequence_parallel", true}},
            "mine does not do sequence_parallel on: --sequence-parallel must be off (source of "
            "sequence_parallel)"},
           {{{"recompute", word("none")}},
            "mine does not do recompute none: --recompute must be full or selective (source of "
            "recompute)"}}) {
    EXPECT_EQ(refusal<std::runtime_error>([&, typed = typed] { variants(system, typed); }), why);
  }
}

TEST(SystemRules, SayWhoSetEachOption) {
  System system = system_of(AxisExtents::any, AxisExtents::any);
  system.options = {rule("zero", number(1), {number(1), number(2)}),
                    rule("recompute", word("none"), {word("none")})};

  const SetBy who =
      set_by(system, {{"chunks", number(2)}, {"recompute", word("full")}}, "campaign");

  std::map<std::string, std::string> expected;
  for (const FieldFacts& field : step_fields().facts()) expected[field.key] = "default";
  expected.erase("micro_batches");
  expected["zero"] = "search";
  expected["chunks"] = expected["recompute"] = "campaign";
  EXPECT_EQ(who, expected);
}

// A shipped file with a piece replaced.
std::string said_of_edited(const std::string& piece, const std::string& by) {
  std::string text = content_of(source_path("systems/megatron-lm-2021.toml"));
  text.replace(text.find(piece), piece.size(), by);
  return refusal<std::runtime_error>([&] { read_from(text, read_system); });
}

// Every pair of what is allowed and what is searched: a search looks at no more than is allowed.
TEST(SystemFile, SearchesNoMoreThanIsAllowed) {
  const auto lies_within = [](AxisExtents searched, AxisExtents allowed) {
    if (allowed == AxisExtents::any || searched == allowed) return true;
    return allowed == AxisExtents::within_node &&
           (searched == AxisExtents::one || searched == AxisExtents::one_node);
  };
  const std::vector<AxisExtents> reaches{AxisExtents::one, AxisExtents::any,
                                         AxisExtents::within_node, AxisExtents::one_node};
  for (AxisExtents allowed : reaches) {
    for (AxisExtents searched : reaches) {
      const std::string said = said_of_edited(
          "y = { allowed = \"1\"",
          fmt::format("y = {{ allowed = \"{}\", searched = \"{}\"", name(allowed), name(searched)));
      const std::string why = fmt::format("line 8: \"{}\" is not allowed, which only \"{}\" is",
                                          name(searched), name(allowed));
      EXPECT_THAT(said, HasSubstr(lies_within(searched, allowed) ? "accepted" : why));
    }
  }
  EXPECT_THAT(said_of_edited("searched = [\"interleaved\", \"1f1b\"]",
                             "searched = [\"interleaved\", \"gpipe\"]"),
              HasSubstr("what is searched must be allowed"));
}

// --- systems and software in a question

Question question_of_devices(std::int64_t devices) {
  Question question;
  question.platform = "perlmutter";
  question.model = model_with("gpt2-124m", {});  // of 12 layers
  question.devices = devices;
  question.global_batch = 64;
  question.stages.clear();
  return question;
}

TEST(SystemQuestion, SearchesAllStagesWhereTheSystemHasPipelines) {
  const Platform platform = read_platform("perlmutter");
  const auto stages = [&](const std::string& system, std::vector<std::int64_t> typed) {
    Question question = question_of_devices(48);
    question.stages = std::move(typed);
    ask_of_system(question, read_system(system), {{}, "campaign"}, platform);
    return question.stages;
  };

  EXPECT_THAT(stages("megatron-lm-2021", {}), ElementsAre(1, 2, 3, 4, 6, 8, 12));
  EXPECT_THAT(stages("megatron-lm-2021", {2, 4}), ElementsAre(2, 4));
  EXPECT_THAT(stages("axonn-4d", {}), ElementsAre(1));
}

// Whoever says which attention there is wins over the software.
TEST(SystemQuestion, HasTheAttentionOfItsSoftware) {
  Question plain = question_of_devices(8);
  plain.variants = {{}, {}};
  ask_of_software(plain, "deepspeed", "campaign", {});
  ask_of_software(plain, "megatron-core", "command line", {});  // too late
  EXPECT_EQ(plain.software, "deepspeed");
  EXPECT_EQ(plain.software_by, "campaign");
  EXPECT_EQ(plain.options.attention, AttentionKernel::unfused);
  for (const StepOptions& one : plain.variants) {
    EXPECT_EQ(one.attention, AttentionKernel::unfused);
  }
  EXPECT_TRUE(plain.set_by.empty());

  Question of_system = question_of_devices(8);
  of_system.software = "deepspeed";
  of_system.software_by = "command line";
  ask_of_system(of_system, read_system("axonn-4d"), {{}, "command line"},
                read_platform("perlmutter"));
  EXPECT_EQ(of_system.software, "deepspeed");
  EXPECT_EQ(of_system.options.attention, AttentionKernel::unfused);
  EXPECT_EQ(of_system.variants.front().attention, AttentionKernel::unfused);
  EXPECT_EQ(of_system.set_by.at("attention"), "software");
}

TEST(SystemQuestion, OfGridsByAModelHasTheOrderOfItsRanksInEveryVariant) {
  Question question = question_of_devices(8);
  question.variants = {{}, {}};
  ask_for_grids_by(question, "sc24-model");
  EXPECT_EQ(question.grids_by, GridsBy::sc24_model);
  EXPECT_EQ(question.options.rank_order, question.variants[0].rank_order);
  EXPECT_EQ(question.options.rank_order, question.variants[1].rank_order);
  EXPECT_FALSE(question.options.rank_order.as_numbered());
  EXPECT_TRUE(question.set_by.empty());

  Question of_system = question_of_devices(8);
  ask_of_system(of_system, read_system("axonn-4d"), {{}, "campaign"}, read_platform("perlmutter"));
  ASSERT_TRUE(of_system.options.rank_order.as_numbered());
  ask_for_grids_by(of_system, "sc24-model");
  EXPECT_EQ(of_system.set_by.at("rank_order"), "sc24-model");
}

// A kept record answers a question again, so two questions never look alike.
TEST(QuestionJson, TellsQuestionsApart) {
  std::set<std::string> seen;
  const auto expect_new = [&](const Question& question) {
    const std::string json = json_of(question).dump();
    EXPECT_TRUE(seen.insert(json).second) << json;
  };
  Question plain = question_of_devices(8);
  for (const std::vector<std::int64_t>& stages :
       std::vector<std::vector<std::int64_t>>{{1}, {2}, {4}, {1, 2}, {1, 4}, {}, {1, 2, 4}}) {
    plain.stages = stages;
    expect_new(plain);
  }
  for (const bool with_system : {false, true}) {
    if (with_system) plain.system = read_system("axonn-4d");
    if (with_system) expect_new(plain);
    for (const auto& change : std::vector<std::function<void(Question&)>>{
             [](Question& q) { q.software = "megatron-core"; },
             [](Question& q) { q.grids_by = GridsBy::sc24_model; },
             [](Question& q) { q.variants = {{}}; },
             [](Question& q) {
               q.variants = {{}, {}};
               q.variants[1].zero = 1;
             }}) {
      Question asked = plain;
      change(asked);
      expect_new(asked);
    }
  }
  for (const auto& change : std::vector<std::function<void(System&)>>{
           [](System& system) { system = read_system("pytorch-fsdp"); },
           [](System& system) { system.software = "deepspeed"; },
           [](System& system) { system.axes[1].searched = AxisExtents::one; },
           [](System& system) { system.axes[1].allowed = AxisExtents::one_node; }}) {
    Question asked = plain;
    change(*asked.system);
    expect_new(asked);
  }
}

}  // namespace
}  // namespace fourfold::tests
