// Spaces of strategies as people type them: lists, ranges, grids, and the flags of a search that
// say them, with every refusal; long because every flag has words of its own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "scaling/cli/strategy_flags.hpp"
#include "scaling/find/strategy_words.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string said_to(const std::function<void()>& call) {
  return refusal<std::exception>(call);
}

TEST(SpaceWords, NumbersAreListsAndRanges) {
  EXPECT_THAT(numbers_in("--zero", "3"), ElementsAre(3));
  EXPECT_THAT(numbers_in("--zero", "4,1,2"), ElementsAre(4, 1, 2));  // in the order typed
  EXPECT_THAT(numbers_in("--zero", "2-5,1,7-7"), ElementsAre(2, 3, 4, 5, 1, 7));
  EXPECT_THAT(numbers_in("--zero", "1-10001"), SizeIs(10'001));
  EXPECT_THAT(numbers_in("--zero", "1000000000"), ElementsAre(1'000'000'000));
  for (const char* wrong : {"0", "-1", "1-", "-", "5-4", "1-10002", "1.5", "1 ", "x", "2-x",
                            "1-2-3", "1000000001", "99999999999999999999"}) {
    EXPECT_EQ(
        said_to([&] { numbers_in("--sizes", wrong); }),
        fmt::format("--sizes '{}' is no list of whole numbers, such as 1,2,4 or 4-20, nor all",
                    wrong));
  }
  EXPECT_EQ(said_to([&] { numbers_in("--sizes", ""); }), "--sizes has an empty list");
  for (const char* wrong : {",", "1,", ",1", "1,,2"}) {
    EXPECT_EQ(said_to([&] { numbers_in("--sizes", wrong); }),
              fmt::format("--sizes '{}' has an empty word", wrong));
  }
}

TEST(SpaceWords, AreSeparatedByWhatNoWordHas) {
  EXPECT_THAT(listed("--zero", "0,1,3"), ElementsAre("0", "1", "3"));
  EXPECT_THAT(listed("--overlap", "none/oar,ors/all", '/'), ElementsAre("none", "oar,ors", "all"));
  for (const std::string& flag : flags_of(step_fields().facts())) {
    const bool has_commas =
        flag == "--overlap" || flag == "--rank-order" || flag == "--layers-per-stage";
    EXPECT_EQ(separator_of(flag), has_commas ? '/' : ',') << flag;
  }
  EXPECT_EQ(separator_of("--no-option"), ',');
}

TEST(SpaceWords, TellListsOfGridsFromGrids) {
  for (const char* one :
       {"2x2x2x2", "x=2,pipe=4", "tp=8,dp=2", "x=2,y=3,z=4,data=5,pipe=6", "x=1"}) {
    EXPECT_FALSE(lists_grids(one)) << one;
  }
  for (const char* list : {"x=1,2", "x=all", "pipe=4-8", "x=2,pipe=1,2", "x=1,9,pipe=2", "x=3,0"}) {
    EXPECT_TRUE(lists_grids(list)) << list;
  }
}

Platform machine() {
  return read_platform(path_of_machine("fat-tree-2"));  // six devices a node
}

StrategySpace space_of(const SpaceWords& words) {
  StepOptions pattern;
  return space_in(words, machine(), pattern);
}

constexpr std::size_t at(Axis axis) {
  return static_cast<std::size_t>(axis);
}

TEST(SpaceWords, OfNodesAreWholeNodesOfDevices) {
  SpaceWords words;
  words.nodes = "1,3-4";
  EXPECT_THAT(space_of(words).devices, ElementsAre(6, 18, 24));
  words.devices = "6";
  EXPECT_EQ(said_to([&] { space_of(words); }),
            "--devices and --nodes say the same; give one of them");
  words.nodes.clear();
  EXPECT_THAT(space_of(words).devices, ElementsAre(6));
  words.devices.clear();
  EXPECT_EQ(said_to([&] { space_of(words); }),
            "--devices or --nodes is required, or a --grid that says how many");
}

TEST(SpaceWords, OfStagesCutNothingElse) {
  SpaceWords words;
  words.devices = "24";
  for (const auto& [stages, pipe] : {std::pair{"", std::vector<std::int64_t>{1}},
                                     std::pair{"1,2,4", std::vector<std::int64_t>{1, 2, 4}},
                                     std::pair{"all", std::vector<std::int64_t>{}}}) {
    words.stages = stages;
    const StrategySpace space = space_of(words);
    EXPECT_EQ(space.extents[at(Axis::pipe)], pipe) << stages;
    for (Axis axis : {Axis::x, Axis::y, Axis::z, Axis::data}) {
      EXPECT_THAT(space.extents[at(axis)], IsEmpty()) << name(axis);
    }
  }
}

// Of a list of grids an axis that is not named is 1, but for data, which is what is left.
TEST(SpaceWords, OfGridsNameTheirAxes) {
  SpaceWords words;
  words.devices = "24";
  words.grid = "x=1,2,pipe=all,z=3-4";
  const StrategySpace some = space_of(words);
  EXPECT_THAT(some.extents[at(Axis::x)], ElementsAre(1, 2));
  EXPECT_THAT(some.extents[at(Axis::y)], ElementsAre(1));
  EXPECT_THAT(some.extents[at(Axis::z)], ElementsAre(3, 4));
  EXPECT_THAT(some.extents[at(Axis::data)], IsEmpty());
  EXPECT_THAT(some.extents[at(Axis::pipe)], IsEmpty());
  words.grid = "tp=1,2,dp=2,4,fsdp=all,pp=2";
  const StrategySpace others = space_of(words);
  EXPECT_THAT(others.extents[at(Axis::x)], ElementsAre(1, 2));
  EXPECT_THAT(others.extents[at(Axis::data)], ElementsAre(2, 4));
  EXPECT_THAT(others.extents[at(Axis::z)], IsEmpty());
  EXPECT_THAT(others.extents[at(Axis::pipe)], ElementsAre(2));

  words.devices.clear();
  words.grid = "2x1x3x2";
  const StrategySpace one = space_of(words);
  EXPECT_THAT(one.devices, ElementsAre(12));
  EXPECT_THAT(one.extents[at(Axis::x)], ElementsAre(2));
  EXPECT_THAT(one.extents[at(Axis::y)], ElementsAre(1));
  EXPECT_THAT(one.extents[at(Axis::z)], ElementsAre(3));
  EXPECT_THAT(one.extents[at(Axis::data)], ElementsAre(2));
  EXPECT_THAT(one.extents[at(Axis::pipe)], ElementsAre(1));
  words.devices = "24,36";
  EXPECT_THAT(space_of(words).devices, ElementsAre(24, 36));

  for (const auto& [grid, why] :
       {std::pair{"x=1,2,x=4", "--grid 'x=1,2,x=4': axis x stands there twice"},
        std::pair{"x=1,2,tp=4", "--grid 'x=1,2,tp=4': axis tp stands there twice"},
        std::pair{"1,2,x=4",
                  "--grid '1,2,x=4' is no grid and no list of them, such as "
                  "x=1,2,4,pipe=8,16"},
        std::pair{"x=1,2,y=0",
                  "--grid, y: '0' is no list of whole numbers, such as 1,2,4 or "
                  "4-20, nor all"}}) {
    words.grid = grid;
    EXPECT_EQ(said_to([&] { space_of(words); }), why);
  }
}

TEST(SpaceWords, OfMicroBatchesMakeTheBatchTogether) {
  SpaceWords words;
  words.devices = "24";
  for (const auto& [sizes, counts, makes] :
       {std::tuple{"", "", false}, std::tuple{"1,2", "", false}, std::tuple{"", "4", false},
        std::tuple{"1-3", "4,8", true}, std::tuple{"all", "4", false},
        std::tuple{"2", "all", false}}) {
    words.micro_batch_size = sizes;
    words.micro_batches = counts;
    EXPECT_EQ(makes_its_batch(space_of(words)), makes) << sizes << " and " << counts;
  }
  words.micro_batch_size = "1-3";
  words.micro_batches = "4,8";
  EXPECT_THAT(space_of(words).micro_batch_sizes, ElementsAre(1, 2, 3));
  EXPECT_THAT(space_of(words).micro_batches, ElementsAre(4, 8));
}

// One word is the pattern's, several are left open, in the order of the table of options.
TEST(SpaceWords, OfOptionsAreOpenWhereTheyAreSeveral) {
  SpaceWords words;
  words.devices = "24";
  words.options = {{"--zero", "0,1,3"},
                   {"--recompute", "none"},
                   {"--overlap", "none/oar,ors"},
                   {"--attention", "fused,unfused"}};
  StepOptions pattern;

  const StrategySpace space = space_in(words, machine(), pattern);

  EXPECT_EQ(pattern.recompute, Recompute::none);
  EXPECT_EQ(pattern.zero, 0);
  std::vector<std::string> order;
  for (const std::string& flag : flags_of(step_fields().facts())) {
    if (words.options.contains(flag) && flag != "--recompute") order.push_back(flag);
  }
  std::vector<std::string> open;
  for (const OptionChoice& choice : space.options) open.push_back(choice.flag);
  EXPECT_EQ(open, order);
  const auto zero = std::ranges::find(space.options, "--zero", &OptionChoice::flag);
  EXPECT_THAT(zero->words, ElementsAre("0", "1", "3"));
  words.options = {{"--zero", "0,7"}};
  EXPECT_THAT(said_to([&] { space_of(words); }), HasSubstr("--zero"));
}

// Software without fused attention leaves it out of all that do not say otherwise.
TEST(SpaceWords, TakeTheAttentionOfTheSoftware) {
  SpaceWords words;
  words.devices = "24";
  Platform platform = machine();
  for (const auto& [software, said, expected] :
       {std::tuple{AttentionSoftware::unfused, "", AttentionKernel::unfused},
        std::tuple{AttentionSoftware::unfused, "fused", AttentionKernel::fused},
        std::tuple{AttentionSoftware::unfused, "fused,unfused", AttentionKernel::fused},
        std::tuple{AttentionSoftware::flash_1, "", AttentionKernel::fused},
        std::tuple{AttentionSoftware::flash_3, "unfused", AttentionKernel::unfused}}) {
    platform.software.attention = software;
    words.options.clear();
    if (*said != 0) words.options["--attention"] = said;
    StepOptions pattern;
    space_in(words, platform, pattern);
    EXPECT_EQ(pattern.attention, expected) << name(software) << " and " << said;
  }
}

TEST(SpaceWords, OfAModelAreItsFlags) {
  EXPECT_EQ(model_flags("gpt-5b", {}), "--model gpt-5b");
  EXPECT_EQ(model_flags("mine.toml", {{"vocabulary", std::int64_t{7}}}),
            "--model mine.toml --vocabulary 7");
  const std::string both = model_flags(
      "gpt-5b", {{"vocabulary", std::int64_t{7}}, {"sequence_tokens", std::int64_t{64}}});
  EXPECT_THAT(both, HasSubstr(" --vocabulary 7"));
  EXPECT_THAT(both, HasSubstr(" --sequence 64"));
}

// --- the flags of a search

struct Search {
  CLI::App app;
  CLI::App* verb = app.add_subcommand("search", "");
  StrategyFlags flags;

  explicit Search(std::vector<std::string> words) {
    add_strategy_flags(*verb, flags);
    verb->add_flag("--influence");
    verb->add_option("--best");
    verb->add_option("--output");
    verb->add_flag("--json");
    std::reverse(words.begin(), words.end());
    words.emplace_back("search");
    app.parse(words);
  }
};

std::vector<std::string> with(const std::vector<std::string>& more) {
  std::vector<std::string> all{"--platform", path_of_machine("dragonfly"), "--model", "gpt-5b"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

StrategyQuestion asked(const std::vector<std::string>& more) {
  Search search(with(more));
  return strategy_question(search.flags, *search.verb);
}

std::string said(const std::vector<std::string>& more) {
  return said_to([&] { asked(more); });
}

TEST(StrategyFlags, AreOpenWhereMoreThanGridsIsLeftToChoose) {
  const auto open = [](const std::vector<std::string>& more) {
    return Search(with(more)).flags.open();
  };

  for (const std::vector<std::string>& closed :
       std::vector<std::vector<std::string>>{{"--devices", "8"},
                                             {"--devices", "8", "--stages", "1,2"},
                                             {"--devices", "8", "--zero", "1"},
                                             {"--devices", "8", "--overlap", "oar,ors"},
                                             {"--devices", "8", "--rank-order", "pipe,x,y,z,data"},
                                             {"--grid", "x=2,data=2", "--micro-batches", "4"}}) {
    EXPECT_FALSE(open(closed)) << ::testing::PrintToString(closed);
  }
  for (const std::vector<std::string>& several :
       std::vector<std::vector<std::string>>{{"--nodes", "1"},
                                             {"--devices", "8", "--micro-batch-size", "2"},
                                             {"--devices", "8", "--micro-batches", "2,4"},
                                             {"--devices", "8", "--micro-batches", "2-4"},
                                             {"--devices", "8", "--micro-batches", "all"},
                                             {"--devices", "8", "--grid", "x=1,2"},
                                             {"--devices", "8", "--grid", "x=all"},
                                             {"--devices", "8", "--zero", "0,1"},
                                             {"--devices", "8", "--overlap", "none/all"},
                                             {"--space", "space.toml"}}) {
    EXPECT_TRUE(open(several)) << ::testing::PrintToString(several);
  }
}

TEST(StrategyFlags, BecomeTheQuestion) {
  const StrategyQuestion question =
      asked({"--nodes", "2,4", "--batch-tokens", "262144", "--vocabulary", "32000", "--zero", "0,1",
             "--recompute", "none", "--stages", "1,2", "--scale", "processor.memory_GB=2",
             "--software", "megatron-core", "--micro-batches", "2,4"});

  const std::int64_t in_node = read_platform(path_of_machine("dragonfly")).node.devices;
  EXPECT_THAT(question.space.devices, ElementsAre(2 * in_node, 4 * in_node));
  EXPECT_EQ(question.model_flags, "--model gpt-5b --vocabulary 32000");
  EXPECT_EQ(question.pattern.model.vocabulary, 32'000);
  EXPECT_EQ(question.pattern.global_batch, 262'144 / question.pattern.model.sequence);
  EXPECT_EQ(question.pattern.options.recompute, Recompute::none);
  EXPECT_EQ(question.pattern.software, "megatron-core");
  EXPECT_EQ(question.pattern.scales, (Scales{{"processor.memory_GB", 2.0}}));
  EXPECT_THAT(question.space.micro_batches, ElementsAre(2, 4));
  EXPECT_THAT(question.space.extents[at(Axis::pipe)], ElementsAre(1, 2));
  ASSERT_THAT(question.space.options, SizeIs(1));
  EXPECT_EQ(question.space.options[0].flag, "--zero");
  EXPECT_EQ(asked({"--devices", "8", "--micro-batch-size", "1", "--micro-batches", "2"})
                .pattern.global_batch,
            0);
  EXPECT_THAT(asked({"--devices", "8", "--zero", "0,1"}).space.extents[at(Axis::pipe)],
              ElementsAre(1));
}

// Also where one word of several asks for a pipeline.
TEST(StrategyFlags, LookAtAllStagesWhereAnOptionAsksForSome) {
  const auto lengths = [](const std::string& flag, const std::string& words) {
    return asked({"--devices", "8", "--zero", "0,1", flag, words}).space.extents[at(Axis::pipe)];
  };
  for (const auto& [flag, words] :
       {std::pair{"--order", "interleaved"}, std::pair{"--order", "1f1b,interleaved"},
        std::pair{"--layers-per-stage", "12,12"}, std::pair{"--layers-per-stage", "even/13,11"}}) {
    EXPECT_THAT(lengths(flag, words), IsEmpty()) << flag << ' ' << words;  // all
  }
  for (const auto& [flag, words] :
       {std::pair{"--order", "1f1b"}, std::pair{"--layers-per-stage", "even"}}) {
    EXPECT_THAT(lengths(flag, words), ElementsAre(1)) << flag << ' ' << words;
  }
}

TEST(StrategyFlags, SayWhereTheyHaveNothingToDo) {
  const std::vector<std::string> open{"--devices", "8", "--zero", "0,1"};
  const auto also = [&](std::vector<std::string> more) {
    more.insert(more.begin(), open.begin(), open.end());
    return said(more);
  };

  EXPECT_EQ(also({}), "accepted");
  EXPECT_EQ(also({"--fidelity", "estimated"}), "accepted");
  EXPECT_THAT(also({"--at-most-grids", "3"}),
              HasSubstr("--at-most-grids cannot take effect: whole"));
  EXPECT_THAT(also({"--work-limit", "3"}), HasSubstr("--work-limit cannot take effect: whole"));
  EXPECT_THAT(also({"--fidelity", "simulated"}), HasSubstr("the answer ends with the command"));
  EXPECT_THAT(also({"--fidelity", "simulatd"}), HasSubstr("unknown fidelity 'simulatd'"));
  EXPECT_EQ(also({"--grid", "x=1,2", "--stages", "1,2"}),
            "--stages cannot take effect: --grid says how many there are");
  EXPECT_THAT(also({"--system", "axonn-4d"}), HasSubstr("a system's grids and options"));
  EXPECT_THAT(also({"--slow-devices", "1:0.5"}), HasSubstr("only --collective and --scale"));
  EXPECT_EQ(also({"--collective", "ring"}), "accepted");
  EXPECT_EQ(also({"--batch-tokens", "262144"}), "accepted");
  EXPECT_EQ(also({"--micro-batch-size", "1", "--batch-tokens", "262144"}), "accepted");
  EXPECT_EQ(also({"--micro-batch-size", "1", "--micro-batches", "2", "--batch-tokens", "262144"}),
            "--batch-tokens cannot take effect: --micro-batch-size and --micro-batches make the "
            "batch");
  EXPECT_THAT(also({"--nodes", "2"}), HasSubstr("give one of them"));
  EXPECT_THAT(said({"--zero", "0,1"}), HasSubstr("--devices or --nodes is required"));
  EXPECT_THAT(also({"--precision", "fp32", "--grad-precision-z", "bf16"}),
              HasSubstr("--grad-precision-z cannot take effect"));
  for (const auto& [left_out, flags] :
       {std::pair{"--platform", std::vector<std::string>{"--model", "gpt-5b"}},
        std::pair{"--model", std::vector<std::string>{"--platform", "frontier"}}}) {
    std::vector<std::string> words = flags;
    words.insert(words.end(), open.begin(), open.end());
    Search search(words);
    EXPECT_EQ(said_to([&] { strategy_question(search.flags, *search.verb); }),
              fmt::format("{} is required", left_out));
  }
}

// Beside a file only what the verb does with the answer may be said.
TEST(StrategyFlags, LeaveASpaceToItsFile) {
  const TemporaryFolder folder;
  const std::string file = folder.file("space.toml");
  write_content(file,
                "title = \"Mine\"\nplatform = \"frontier\"\nmodel = \"gpt-5b\"\ndevices = "
                "[8]\nbatch_tokens = "
                "131072\n[options]\nzero = [0, 1]\n");
  const auto beside = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--space", file});
    Search search(words);
    return said_to([&] { strategy_question(search.flags, *search.verb); });
  };

  EXPECT_EQ(beside({}), "accepted");
  EXPECT_EQ(beside({"--influence"}), "accepted");
  EXPECT_EQ(beside({"--json"}), "accepted");
  for (const auto& [flag, word] :
       {std::pair{"--devices", "8"}, std::pair{"--platform", "frontier"},
        std::pair{"--model", "gpt-5b"}, std::pair{"--grid", "x=1,2"}, std::pair{"--zero", "1"},
        std::pair{"--micro-batches", "2"}, std::pair{"--batch-tokens", "131072"},
        std::pair{"--scale", "nodes=0.5"}, std::pair{"--system", "axonn-4d"},
        std::pair{"--jitter", "1%"}}) {
    EXPECT_EQ(beside({flag, word}),
              fmt::format("{} cannot take effect: the file of --space says all of it", flag));
  }
}

TEST(StrategyFlags, WithOneWordEachAreAQuestionOfGrids) {
  const Search search(with({"--devices", "8", "--zero", "1", "--overlap", "oar,ors", "--recompute",
                            "none,full", "--micro-batches", "4"}));

  const QuestionFlags flags = question_flags(search.flags);

  EXPECT_EQ(std::get<std::int64_t>(flags.options.at("zero")), 1);
  EXPECT_TRUE(std::get<bool>(flags.options.at("overlap.all_reduce")));
  EXPECT_FALSE(std::get<bool>(flags.options.at("overlap.all_gather")));
  EXPECT_FALSE(flags.options.contains("recompute"));
  EXPECT_EQ(flags.micro_batches(), 4);
  EXPECT_EQ(question_flags(Search(with({"--devices", "8", "--micro-batches", "4,8"})).flags)
                .micro_batches(),
            std::nullopt);
}

}  // namespace
}  // namespace fourfold::tests
