// What a resumed run goes on with of the flags of the run before, which of a checkpoint's it never
// takes, and what it is told of those that are not as they were.
#include <gtest/gtest.h>

#include <set>

#include "engine/train/checkpoint/resume.hpp"
#include "tests/refusal.hpp"
#include "tests/train/parsed_flags.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using Resumed = OneRank;

// A value that the flag takes.
std::string value_for(const std::string& flag) {
  for (const std::string& value :
       words_of("7 0.5 16 1 on x=2 full gpipe wsd skip sequential bf16 fp8-current oar window none "
                "keep accumulated beside-backward data,x,y,z,pipe unfused")) {
    if (said_of({flag + "=" + value}, [](const Parsed&) {}) == "accepted") return value;
  }
  return "no value";
}

// Flags of the run that asks, not of what is trained: a resumed run does not go on with them.
const std::set<std::string> of_one_run{"--folder", "--log",        "--trace", "--trace-step",
                                       "--resume", "--start-from", "--json",  "--help"};

std::vector<std::pair<std::string, std::string>> all_flags() {
  std::vector<std::pair<std::string, std::string>> all;
  Parsed parsed({});
  for (const CLI::Option* option : parsed.app.get_options()) {
    const std::string flag = option->get_name();
    const bool bare = option->get_items_expected_max() == 0;
    if (flag != "--help") all.emplace_back(flag, bare ? flag : flag + "=" + value_for(flag));
  }
  return all;
}

TEST_F(Resumed, AResumedRunGoesOnWithEveryFlagButThoseOfOneRun) {
  for (const auto& [flag, word] : all_flags()) {
    const Parsed before({word}), now({"--resume=r"});
    const nlohmann::json kept = typed_flags(before.app);

    EXPECT_EQ(kept.size(), of_one_run.contains(flag) ? 0U : 1U) << flag;
    const Parsed both(words_with({"--resume=r"}, now.app, kept));
    EXPECT_EQ(typed_flags(both.app), kept) << flag;
    EXPECT_EQ(both.flags.settings.resume, "r");
  }
}

TEST_F(Resumed, WhatIsTypedAnewReplacesWhatWasTypedBefore) {
  const std::map<std::string, std::string> pairs{{"--ranks", "--grid"},
                                                 {"--grid", "--ranks"},
                                                 {"--steps", "--minutes"},
                                                 {"--minutes", "--steps"}};
  const auto flags = all_flags();
  nlohmann::json before = nlohmann::json::object();
  for (const auto& [flag, word] : flags) {
    if (!of_one_run.contains(flag)) before[flag] = nlohmann::json::array({"of before"});
  }
  for (const auto& [flag, word] : flags) {
    const Parsed now({word});

    std::set<std::string> left;
    for (const std::string& all : words_with({}, now.app, before)) {
      EXPECT_TRUE(all.ends_with("=of before")) << all;
      left.insert(all.substr(0, all.find('=')));
    }

    EXPECT_FALSE(left.contains(flag));
    const bool of_a_pair = pairs.contains(flag);
    EXPECT_FALSE(of_a_pair && left.contains(pairs.at(flag))) << flag;
    EXPECT_EQ(left.size(), before.size() - (of_a_pair ? 2 : before.count(flag))) << flag;
  }
}

// A record that was forged: nothing is written where it says, and what it said is told.
TEST_F(Resumed, NothingThatBelongsToOneRunIsTakenFromACheckpoint) {
  nlohmann::json before = nlohmann::json::object();
  for (const std::string& flag : of_one_run) before[flag] = {"/etc/motd", "two\nlines"};
  before["--batch"] = {"7"};

  EXPECT_EQ(words_with({"--resume=r"}, Parsed({"--resume=r"}).app, before),
            (Words{"--resume=r", "--batch=7"}));
  const std::string said = left_out(before);
  for (const std::string& flag : of_one_run) {
    EXPECT_NE(said.find(flag + " /etc/motd two?lines"), std::string::npos) << flag << ": " << said;
  }
  EXPECT_EQ(left_out({{"--batch", {"7"}}}), "");
}

TEST_F(Resumed, FlagsThatThereAreNotAreNotTakenEither) {
  const Parsed parsed({"--resume=r"});
  for (const char* flag : {"--log=/etc/motd", "--log ", "log", "-l", "", "--trace\n", "words"}) {
    const nlohmann::json before{{flag, {"x"}}};
    EXPECT_EQ(refusal<std::runtime_error>([&] { words_with({}, parsed.app, before); }),
              std::string("unknown flag '") + flag + "' among those that a checkpoint remembers");
  }
}

TEST_F(Resumed, FilesThatACheckpointNamesAreTold) {
  const nlohmann::json before{
      {"--data", {"a.txt", "b.txt"}}, {"--validation-data", {"v\x1b.txt"}}, {"--batch", {"7"}}};

  EXPECT_EQ(files_taken(Parsed({"--resume=r"}).app, before),
            "--data a.txt b.txt --validation-data v?.txt");
  EXPECT_EQ(files_taken(Parsed({"--resume=r", "--data=c"}).app, before),
            "--validation-data v?.txt");
}

// Every word counts of a flag that takes several, in their order.
TEST_F(Resumed, FilesOfBeforeComeBackInTheirOrder) {
  const Parsed before({"--data", "b", "a", "--validation-data", "d", "c"});

  const Parsed again(words_with({}, Parsed({}).app, typed_flags(before.app)));

  EXPECT_EQ(again.flags.settings.data.files, (Words{"b", "a"}));
  EXPECT_EQ(again.flags.settings.data.validation_files, (Words{"d", "c"}));
}

// What a resumed run is told about flags that are not as they were.
Words changes(const Words& before, const Words& now) {
  return changes_since(typed_flags(Parsed(before).app), Parsed(now).app);
}

TEST_F(Resumed, OtherDataIsAskedForByTheFlagsOfTheDataAlone) {
  EXPECT_TRUE(asks_for_other_data(changes({}, {"--data=a"})));
  EXPECT_TRUE(asks_for_other_data(changes({}, {"--validation-data=a"})));
  EXPECT_TRUE(asks_for_other_data(changes({"--held-out=0.2"}, {"--held-out=0.3"})));
  EXPECT_FALSE(asks_for_other_data(changes({"--data=a"}, {"--data=a"})));
  EXPECT_FALSE(asks_for_other_data(changes({}, {"--data-order=sequential", "--data-bucket=7"})));
  EXPECT_FALSE(asks_for_other_data({}));
}

TEST_F(Resumed, ARunHearsWhatIsNotAsItWas) {
  struct Row {
    const char *before, *now;
    Words said;
  };
  for (const Row& row : std::vector<Row>{
           {"--learning-rate=0.004", "--learning-rate=4e-3", {}},
           {"", "--learning-rate 2e-3 --batch=16", {}},
           {"--batch 8",
            "--batch 4 --steps 90 --grid 1x1x1x1",
            {"--batch 4 instead of 8", "--steps 90 instead of the default length"}},
           {"",
            "--seed 7 --precision bf16",
            {"--seed 7 instead of 1", "--precision bf16 instead of fp32"}},
           {"", "--data a.txt", {"--data a.txt instead of the default"}},
           {"--data=1e1", "--data=10 11", {"--data 10 11 instead of 1e1"}},
           {"--data a b", "--data a b", {}},
           {"--data a b", "--data b a", {"--data b a instead of a b"}},
           {"--validation-data=a", "--validation-data=b", {"--validation-data b instead of a"}}}) {
    EXPECT_EQ(changes(words_of(row.before), words_of(row.now)), row.said);
  }
  for (const Words& flag : rows_of(R"(
        --data-order sequential | --seed 7 | --batch 3 | --goldfish-k 9 | --goldfish-h 9
        --learning-rate 3e-5 | --clip 0.3 | --beta1 0.3 | --beta2 0.3
        --last-learning-rate 0.3 | --warm-up 33 | --weight-decay 0.03)")) {
    const Words said = changes({}, flag);
    ASSERT_EQ(said.size(), 1u) << flag[0];
    EXPECT_TRUE(said[0].starts_with(flag[0] + " " + flag[1] + " instead of ")) << said[0];
  }
}

// --steps and --minutes go together: one that is typed drops the other, and says so.
TEST_F(Resumed, ARunHearsOfEveryOtherLength) {
  const std::vector<std::string> lengths{"", "--steps 9", "--steps 8", "--minutes 2.5",
                                         "--steps 9 --minutes 2.5"};
  const auto text = [](const std::string& line) {
    return line.empty() ? "the default length" : line;
  };
  for (const std::string& before : lengths) {
    for (const std::string& now : lengths) {
      const bool said = !now.empty() && now != before;
      EXPECT_EQ(changes(words_of(before), words_of(now)),
                said ? Words{text(now) + " instead of " + text(before)} : Words{});
    }
  }
}

// Before pipelines had an order, --order was that of the data.
TEST_F(Resumed, OlderCheckpointsNameTheOrderOfTheDataOtherwise) {
  TrainingState old;
  old.trainer = {{"typed", {{"--order", {"sequential"}}, {"--batch", {"8"}}}}};
  TrainingState pipelined;
  pipelined.trainer = {{"typed", {{"--order", {"gpipe"}}}}};

  EXPECT_EQ(typed_before(old),
            nlohmann::json({{"--data-order", {"sequential"}}, {"--batch", {"8"}}}));
  EXPECT_EQ(typed_before(pipelined), nlohmann::json({{"--order", {"gpipe"}}}));
}

TEST_F(Resumed, AModelMustBeTheResumedOne) {
  const Model small{"small", 2, 32, 8, 16, 128};
  Model other = small;
  other.name = "the same by another name";
  EXPECT_NO_THROW(expect_same_model(small, other));
  other.layers = 3;
  EXPECT_THROW(expect_same_model(small, other), std::runtime_error);
}

// A grid with other stages takes none of what speaks of them, unless it is typed anew.
TEST_F(Resumed, ARunLeavesThePipelineOfAnotherGrid) {
  const nlohmann::json then{{"--grid", {"pipe=2,data=2"}},
                            {"--order", {"interleaved"}},
                            {"--chunks", {"2"}},
                            {"--batch", {"8"}}};
  const auto taken = [&](const Words& words, std::string& said) {
    nlohmann::json before = then;
    said = take_flags_of_stages(Parsed(words).app, before);
    return before;
  };
  std::string said;
  EXPECT_EQ(taken({"--grid", "pipe=2,x=2"}, said), then);
  EXPECT_EQ(taken({"--batch", "4"}, said), then);
  EXPECT_EQ(taken({"--grid", "no grid"}, said), then);
  EXPECT_EQ(said, "");
  const nlohmann::json left{{"--grid", {"pipe=2,data=2"}}, {"--batch", {"8"}}};
  for (const Words& words :
       {Words{"--grid", "data=2"}, Words{"--ranks", "2"}, Words{"--grid", "pipe=3"}}) {
    EXPECT_EQ(taken(words, said), left);
    EXPECT_EQ(said, "--order interleaved --chunks 2") << words[1];
  }
  taken({"--grid", "data=2", "--order", "1f1b"}, said);
  EXPECT_EQ(said, "--chunks 2");
}

}  // namespace
}  // namespace fourfold::tests
