// Spaces of strategies as people type them: lists, ranges, grids, and the flags of a search that
// say them, with every refusal; long because every flag has words of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <iterator>
#include <sstream>

#include "scaling/cli/strategy_flags.hpp"
#include "scaling/find/strategy_words.hpp"
#include "scaling/study/strategy_file.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

// Of a file that says this besides.
StrategyQuestion read_space_file(const std::string& more) {
  const TemporaryFolder folder;
  const std::string path = folder.file("space.toml");
  write_content(path, fmt::format("title = \"Mine\"\nplatform = \"{}\"\nmodel = \"gpt-5b\"\n"
                                  "devices = 24\nbatch_tokens = 262144\n{}\n",
                                  path_of_machine("fat-tree-2"), more));
  return read_strategy_file(path);
}

TEST(SpaceFile, LeavesDataToTheOtherAxesUnlessItsTableHasIt) {
  for (const auto& [grid, data] : {std::pair{"x = 2, pipe = 4", std::vector<std::int64_t>{}},
                                   {"x = 2, data = 3, pipe = 4", {3}}}) {
    const StrategyQuestion question = read_space_file(fmt::format("grid = {{ {} }}", grid));
    EXPECT_EQ(question.space.extents[at(Axis::data)], data) << grid;
  }
}

TEST(SpaceFile, HasAGridInOneOfTwoForms) {
  for (const std::string grid : {"[\"x=2\"]", "2", "true", "[2, 2]", "2.0"}) {
    EXPECT_THAT(said_to([&] { read_space_file("grid = " + grid); }), HasSubstr("grid")) << grid;
  }
}

// A command that says the model again says what the file says instead of it.
TEST(SpaceFile, KeepsWhatItSaysOfTheModel) {
  EXPECT_EQ(read_space_file("sequence_tokens = 1024\nvocabulary = 32000").model_flags,
            "--model gpt-5b --sequence 1024 --vocabulary 32000");
}

// Devices and then the extents of all axes, or what is said against the words.
std::string text_of(const SpaceWords& words) {
  std::string text;
  const std::string said = refusal<std::exception>([&] {
    const StrategySpace space = space_of(words);
    text = fmt::format("{}:", fmt::join(space.devices, ","));
    for (const Axis axis : all_axes) {
      const std::vector<std::int64_t>& extents = space.extents[at(axis)];
      text += fmt::format(" {}={}", name(axis), fmt::join(extents, ","));
      if (extents.empty()) text += "all";
    }
  });
  return said == "accepted" ? text : said;
}

// Nodes are whole nodes of devices, stages cut nothing else, and of a list of grids an axis that is
// not named is 1, but for data, which is what is left.
TEST(SpaceWords, OfGridsNameTheirAxes) {
  struct Case {
    const char *nodes, *devices, *stages, *grid, *expected;
  };
  for (const Case& one : std::vector<Case>{
           {"1,3-4", "", "", "", "6,18,24: x=all y=all z=all data=all pipe=1"},
           {"1", "6", "", "", "--devices and --nodes say the same; give one of them"},
           {"", "", "", "", "--devices or --nodes is required, or a --grid that says how many"},
           {"", "24", "1,2,4", "", "24: x=all y=all z=all data=all pipe=1,2,4"},
           {"", "24", "all", "", "24: x=all y=all z=all data=all pipe=all"},
           {"", "24", "", "x=1,2,pipe=all,z=3-4", "24: x=1,2 y=1 z=3,4 data=all pipe=all"},
           {"", "24", "", "tp=1,2,dp=2,4,fsdp=all,pp=2", "24: x=1,2 y=1 z=all data=2,4 pipe=2"},
           {"", "", "", "2x1x3x2", "12: x=2 y=1 z=3 data=2 pipe=1"},
           {"", "24,36", "", "2x1x3x2", "24,36: x=2 y=1 z=3 data=2 pipe=1"},
           {"", "24", "", "x=1,2,x=4", "--grid 'x=1,2,x=4': axis x stands there twice"},
           {"", "24", "", "x=1,2,tp=4", "--grid 'x=1,2,tp=4': axis tp stands there twice"},
           {"", "24", "", "1,2,x=4",
            "--grid '1,2,x=4' is no grid and no list of them, such as x=1,2,4,pipe=8,16"},
           {"", "24", "", "x=1,2,y=0",
            "--grid, y: '0' is no list of whole numbers, such as 1,2,4 or 4-20, nor all"}}) {
    SpaceWords words;
    words.nodes = one.nodes;
    words.devices = one.devices;
    words.stages = one.stages;
    words.grid = one.grid;
    EXPECT_EQ(text_of(words), one.expected);
  }
}

TEST(SpaceWords, OfMicroBatchesMakeTheBatchTogether) {
  for (const auto& [sizes, counts, makes] : {std::tuple{"", "", false},
                                             {"1,2", "", false},
                                             {"", "4", false},
                                             {"all", "4", false},
                                             {"2", "all", false},
                                             {"1-3", "4,8", true}}) {
    SpaceWords words;
    words.devices = "24";
    words.micro_batch_size = sizes;
    words.micro_batches = counts;
    const StrategySpace space = space_of(words);
    EXPECT_EQ(makes_its_batch(space), makes) << sizes << " and " << counts;
    if (!makes) continue;
    EXPECT_THAT(space.micro_batch_sizes, ElementsAre(1, 2, 3));
    EXPECT_THAT(space.micro_batches, ElementsAre(4, 8));
  }
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
  std::string order, open;
  for (const std::string& flag : flags_of(step_fields().facts())) {
    if (words.options.contains(flag) && flag != "--recompute") order += flag;
  }
  for (const OptionChoice& choice : space.options) {
    open += choice.flag;
  }
  EXPECT_EQ(open, order);
  const auto zero = std::ranges::find(space.options, "--zero", &OptionChoice::flag);
  EXPECT_THAT(zero->words, ElementsAre("0", "1", "3"));
  words.options = {{"--zero", "0,7"}};
  EXPECT_THAT(said_to([&] { space_of(words); }), HasSubstr("--zero"));
}

// Software without fused attention leaves it out of all that do not say otherwise.
TEST(SpaceWords, TakeTheAttentionOfTheSoftware) {
  Platform platform = machine();
  for (const auto& [software, said, expected] :
       {std::tuple{AttentionSoftware::unfused, "", AttentionKernel::unfused},
        {AttentionSoftware::unfused, "fused", AttentionKernel::fused},
        {AttentionSoftware::unfused, "fused,unfused", AttentionKernel::fused},
        {AttentionSoftware::flash_1, "", AttentionKernel::fused},
        {AttentionSoftware::flash_3, "unfused", AttentionKernel::unfused}}) {
    SpaceWords words;
    words.devices = "24";
    if (*said != 0) words.options["--attention"] = said;
    platform.software.attention = software;
    StepOptions pattern;
    space_in(words, platform, pattern);
    EXPECT_EQ(pattern.attention, expected) << name(software) << " and " << said;
  }
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

Search with(const std::string& more) {
  std::istringstream words("--platform " + path_of_machine("dragonfly") + " --model gpt-5b " +
                           more);
  return Search({std::istream_iterator<std::string>(words), {}});
}

StrategyQuestion asked(const std::string& more) {
  const Search search = with(more);
  return strategy_question(search.flags, *search.verb);
}

std::string said(const std::string& more) {
  return said_to([&] { asked(more); });
}

TEST(StrategyFlags, AreOpenWhereMoreThanGridsIsLeftToChoose) {
  for (const char* closed :
       {"--devices 8", "--devices 8 --stages 1,2", "--devices 8 --zero 1",
        "--devices 8 --overlap oar,ors", "--devices 8 --rank-order pipe,x,y,z,data",
        "--grid x=2,data=2 --micro-batches 4"}) {
    EXPECT_FALSE(with(closed).flags.open()) << closed;
  }
  for (const char* several :
       {"--nodes 1", "--devices 8 --micro-batch-size 2", "--devices 8 --micro-batches 2,4",
        "--devices 8 --micro-batches 2-4", "--devices 8 --micro-batches all",
        "--devices 8 --grid x=1,2", "--devices 8 --grid x=all", "--devices 8 --zero 0,1",
        "--devices 8 --overlap none/all", "--space space.toml"}) {
    EXPECT_TRUE(with(several).flags.open()) << several;
  }
}

TEST(StrategyFlags, BecomeTheQuestion) {
  const StrategyQuestion question = asked(
      "--nodes 2,4 --batch-tokens 262144 --vocabulary 32000 --zero 0,1 --recompute none "
      "--stages 1,2 --scale processor.memory_GB=2 --software megatron-core "
      "--micro-batches 2,4");

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
  EXPECT_EQ(asked("--devices 8 --micro-batch-size 1 --micro-batches 2").pattern.global_batch, 0);
}

// Also where one word of several asks for a pipeline.
TEST(StrategyFlags, LookAtAllStagesWhereAnOptionAsksForSome) {
  for (const auto& [words, all] : {std::pair{"", false},
                                   {"--order interleaved", true},
                                   {"--order 1f1b,interleaved", true},
                                   {"--layers-per-stage 12,12", true},
                                   {"--layers-per-stage even/13,11", true},
                                   {"--order 1f1b", false},
                                   {"--layers-per-stage even", false}}) {
    EXPECT_EQ(asked(std::string("--devices 8 --zero 0,1 ") + words).space.extents[at(Axis::pipe)],
              all ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1})
        << words;
  }
}

TEST(StrategyFlags, SayWhereTheyHaveNothingToDo) {
  for (const auto& [words, why] :
       {std::pair{"", "accepted"},
        {"--fidelity estimated", "accepted"},
        {"--collective ring", "accepted"},
        {"--batch-tokens 262144", "accepted"},
        {"--micro-batch-size 1 --batch-tokens 262144", "accepted"},
        {"--at-most-grids 3", "--at-most-grids cannot take effect: whole"},
        {"--work-limit 3", "--work-limit cannot take effect: whole"},
        {"--fidelity simulated", "the answer ends with the command"},
        {"--fidelity simulatd", "unknown fidelity 'simulatd'"},
        {"--grid x=1,2 --stages 1,2",
         "--stages cannot take effect: --grid says how many there are"},
        {"--system axonn-4d", "a system's grids and options"},
        {"--slow-devices 1:0.5", "only --collective and --scale"},
        {"--micro-batch-size 1 --micro-batches 2 --batch-tokens 262144",
         "--batch-tokens cannot take effect: --micro-batch-size and "
         "--micro-batches make the batch"},
        {"--nodes 2", "give one of them"},
        {"--precision fp32 --grad-precision-z bf16", "--grad-precision-z cannot take effect"}}) {
    EXPECT_THAT(said(std::string("--devices 8 --zero 0,1 ") + words), HasSubstr(why)) << words;
  }
  for (const auto& [present, word, left_out] :
       {std::tuple{"--model", "gpt-5b", "--platform"}, {"--platform", "frontier", "--model"}}) {
    const Search search({present, word, "--devices", "8", "--zero", "0,1"});
    EXPECT_EQ(said_to([&] { strategy_question(search.flags, *search.verb); }),
              fmt::format("{} is required", left_out));
  }
}

// Beside a file only what the verb does with the answer may be said.
TEST(StrategyFlags, LeaveASpaceToItsFile) {
  const TemporaryFolder folder;
  const std::string file = folder.file("space.toml");
  write_content(file,
                "title = \"Mine\"\nplatform = \"frontier\"\nmodel = \"gpt-5b\"\ndevices = [8]\n"
                "batch_tokens = 131072\n[options]\nzero = [0, 1]\n");
  const auto beside = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--space", file});
    Search search(words);
    return said_to([&] { strategy_question(search.flags, *search.verb); });
  };

  EXPECT_EQ(beside({}), "accepted");
  EXPECT_EQ(beside({"--influence", "--json"}), "accepted");
  for (const char* flag :
       {"--devices", "--platform", "--model", "--grid", "--zero", "--micro-batches",
        "--batch-tokens", "--scale", "--system", "--jitter"}) {
    EXPECT_EQ(beside({flag, "1"}),
              fmt::format("{} cannot take effect: the file of --space says all of it", flag));
  }
}

TEST(StrategyFlags, WithOneWordEachAreAQuestionOfGrids) {
  const Search search =
      with("--devices 8 --zero 1 --overlap oar,ors --recompute none,full --micro-batches 4");

  const QuestionFlags flags = question_flags(search.flags);

  EXPECT_EQ(std::get<std::int64_t>(flags.options.at("zero")), 1);
  EXPECT_TRUE(std::get<bool>(flags.options.at("overlap.all_reduce")));
  EXPECT_FALSE(std::get<bool>(flags.options.at("overlap.all_gather")));
  EXPECT_FALSE(flags.options.contains("recompute"));
  EXPECT_EQ(flags.micro_batches(), 4);
  EXPECT_EQ(question_flags(with("--devices 8 --micro-batches 4,8").flags).micro_batches(),
            std::nullopt);
}

}  // namespace
}  // namespace fourfold::tests
