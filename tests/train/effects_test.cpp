// Flags in company: which have no effect beside others, which a resumed run goes on with, and what
// of their values and grids is refused.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "support/flag_checks.hpp"
#include "tests/refusal.hpp"
#include "tests/train/one_rank.hpp"

namespace fourfold::tests {
namespace {

using Words = std::vector<std::string>;

class Effects : public OneRank {};

// A command line that has been read.
struct Parsed {
  explicit Parsed(const Words& words) {
    add_train_flags(app, flags);
    check_all_values(app);
    parse_words(app, words);
  }
  CLI::App app;
  TrainFlags flags;
};

// What is said about flags beside each other.
std::string said(const Words& words) {
  const Parsed parsed(words);
  return refusal<std::runtime_error>([&] { refuse_without_effect(parsed.app); });
}

TEST_F(Effects, AFlagWithoutAnyIsRefusedWithTheReason) {
  const std::string no_text = " has no effect with --tokens 0: no text is drawn";
  const std::vector<std::pair<Words, std::string>> refused{
      {{"--resume=r", "--start-from=s"},
       "--start-from has no effect beside --resume, which goes on with weights and all else"},
      {{"--trace-step=3"}, "--trace-step has no effect without --trace FILE"},
      {{"--validation-data=v", "--held-out=0.2"},
       "--held-out has no effect beside --validation-data"},
      {{"--json", "--print-every=2"},
       "--print-every has no effect with --json, which prints every step"},
      {{"--goldfish-h=5"}, "--goldfish-h has no effect without --goldfish-k"},
      {{"--goldfish-h=5", "--goldfish-k=0"}, "--goldfish-h has no effect without --goldfish-k"},
      {{"--grad-precision-z=bf16"},
       "--grad-precision-z has no effect with --precision fp32, which is fp32 throughout"},
      {{"--precision=fp32", "--grad-precision-data=bf16"},
       "--grad-precision-data has no effect with --precision fp32, which is fp32 throughout"},
      {{"--precision=bf16", "--zero=2", "--grad-precision-data=bf16"},
       "--grad-precision-data has no effect with --zero 2, which reduces gradients along data as "
       "they come from z: --grad-precision-z"},
      {{"--precision=bf16", "--zero=3", "--grad-precision-data=fp32"},
       "--grad-precision-data has no effect with --zero 3, which reduces gradients along data as "
       "they come from z: --grad-precision-z"},
      {{"--decay-part=0.5"}, "--decay-part has no effect without --learning-rate-decay wsd"},
      {{"--decay-part=0.5", "--learning-rate-decay=linear"},
       "--decay-part has no effect without --learning-rate-decay wsd"},
      {{"--learning-rate-decay=constant", "--last-learning-rate=0.5"},
       "--last-learning-rate has no effect with --learning-rate-decay constant"},
      {{"--tokens=0", "--prompt=p"}, "--prompt" + no_text},
      {{"--tokens=0", "--texts=1"}, "--texts" + no_text},
      {{"--tokens=0", "--temperature=1"}, "--temperature" + no_text},
      {{"--tokens=0", "--top-k=3"}, "--top-k" + no_text},
      {{"--temperature=0", "--top-k=3"}, "--top-k has no effect with --temperature 0"},
      {{"--tokens=0", "--top-p=0.5"}, "--top-p" + no_text},
      {{"--temperature=0", "--top-p=0.5"}, "--top-p has no effect with --temperature 0"},
      {{"--temperature=0.0", "--top-k=3"}, "--top-k has no effect with --temperature 0"},
      {{"--tokens=0", "--sample-seed=3"}, "--sample-seed" + no_text},
      {{"--tokens=0", "--sample-every=3"}, "--sample-every" + no_text},
      {{"--temperature=0", "--sample-seed=3"}, "--sample-seed has no effect with --temperature 0"},
      {{"--overlap=oar,recompute"}, "--overlap recompute has no effect without --recompute full"},
      {{"--overlap=recompute", "--recompute=none"},
       "--overlap recompute has no effect without --recompute full"},
      {{"--offload-activations=on"},
       "--offload-activations has no effect without --recompute full"},
      {{"--offload-activations=on", "--recompute=mlp"},
       "--offload-activations has no effect without --recompute full"}};
  for (const auto& [words, sentence] : refused) EXPECT_EQ(said(words), sentence) << words.front();
}

TEST_F(Effects, AFlagWithOneIsTaken) {
  for (const Words& words :
       std::vector<Words>{{},
                          {"--resume=r"},
                          {"--start-from=s"},
                          {"--trace=t", "--trace-step=3"},
                          {"--validation-data=v"},
                          {"--held-out=0.2"},
                          {"--json"},
                          {"--print-every=2"},
                          {"--goldfish-k=4", "--goldfish-h=5"},
                          {"--resume=r", "--goldfish-h=5"},
                          {"--precision=bf16", "--grad-precision-z=bf16"},
                          {"--precision=bf16", "--grad-precision-data=bf16"},
                          {"--precision=bf16", "--zero=1", "--grad-precision-data=bf16"},
                          {"--resume=r", "--grad-precision-z=bf16"},
                          {"--learning-rate-decay=wsd", "--decay-part=0.5"},
                          {"--resume=r", "--decay-part=0.5"},
                          {"--learning-rate-decay=linear", "--last-learning-rate=0.5"},
                          {"--tokens=9", "--prompt=p", "--texts=1"},
                          {"--tokens=0", "--validate-every=3"},
                          {"--temperature=0", "--texts=2"},
                          {"--temperature=0.5", "--sample-seed=3"},
                          {"--overlap=oar,oag"},
                          {"--offload-activations=on", "--recompute=full"},
                          {"--overlap=recompute", "--recompute=full"}}) {
    EXPECT_EQ(said(words), "accepted") << (words.empty() ? "nothing" : words.back());
  }
}

// A value that each flag takes.
std::string value_for(const CLI::Option& option) {
  static const std::map<std::string, std::string> words{{"--grid", "x=2"},
                                                        {"--held-out", "0.25"},
                                                        {"--last-learning-rate", "0.5"},
                                                        {"--beta1", "0.5"},
                                                        {"--beta2", "0.5"},
                                                        {"--epsilon", "0.5"},
                                                        {"--learning-rate-decay", "wsd"},
                                                        {"--decay-part", "0.5"},
                                                        {"--bad-steps", "skip"},
                                                        {"--token-bits", "16"},
                                                        {"--data-order", "sequential"},
                                                        {"--order", "gpipe"},
                                                        {"--precision", "bf16"},
                                                        {"--products", "fp8-current"},
                                                        {"--recompute", "full"},
                                                        {"--overlap", "oar"},
                                                        {"--transport", "window"},
                                                        {"--progress", "none"},
                                                        {"--zero", "1"},
                                                        {"--top-p", "0.5"},
                                                        {"--weight-gather", "keep"},
                                                        {"--weight-gather-precision", "fp32"},
                                                        {"--gradient-reduction", "accumulated"},
                                                        {"--data-reduction", "beside-backward"},
                                                        {"--sequence-parallel", "on"},
                                                        {"--offload-activations", "on"},
                                                        {"--cut-messages", "on"},
                                                        {"--rank-order", "data,x,y,z,pipe"},
                                                        {"--grad-precision-z", "bf16"},
                                                        {"--grad-precision-data", "bf16"},
                                                        {"--openblas-core", "keep"},
                                                        {"--attention", "unfused"}};
  const auto own = words.find(option.get_name());
  return own == words.end() ? "7" : own->second;
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
    if (flag != "--help") all.emplace_back(flag, bare ? flag : flag + "=" + value_for(*option));
  }
  return all;
}

TEST_F(Effects, AResumedRunGoesOnWithEveryFlagButThoseOfOneRun) {
  for (const auto& [flag, word] : all_flags()) {
    const Parsed before({word}), now({"--resume=r"});
    const nlohmann::json kept = typed_flags(before.app);

    EXPECT_EQ(kept.size(), of_one_run.contains(flag) ? 0U : 1U) << flag;
    const Parsed both(words_with({"--resume=r"}, now.app, kept));
    EXPECT_EQ(typed_flags(both.app), kept) << flag;
    EXPECT_EQ(both.flags.settings.resume, "r");
  }
}

TEST_F(Effects, WhatIsTypedAnewReplacesWhatWasTypedBefore) {
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
TEST_F(Effects, NothingThatBelongsToOneRunIsTakenFromACheckpoint) {
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

TEST_F(Effects, FlagsThatThereAreNotAreNotTakenEither) {
  const Parsed parsed({"--resume=r"});
  for (const char* flag : {"--log=/etc/motd", "--log ", "log", "-l", "", "--trace\n", "words"}) {
    const nlohmann::json before{{flag, {"x"}}};
    EXPECT_EQ(refusal<std::runtime_error>([&] { words_with({}, parsed.app, before); }),
              std::string("unknown flag '") + flag + "' among those that a checkpoint remembers");
  }
}

TEST_F(Effects, FilesThatACheckpointNamesAreTold) {
  const nlohmann::json before{
      {"--data", {"a.txt", "b.txt"}}, {"--validation-data", {"v\x1b.txt"}}, {"--batch", {"7"}}};

  EXPECT_EQ(files_taken(Parsed({"--resume=r"}).app, before),
            "--data a.txt b.txt --validation-data v?.txt");
  EXPECT_EQ(files_taken(Parsed({"--resume=r", "--data=c"}).app, before),
            "--validation-data v?.txt");
}

// Every word counts of a flag that takes several, in their order.
TEST_F(Effects, FilesOfBeforeComeBackInTheirOrder) {
  const Parsed before({"--data", "b", "a", "--validation-data", "d", "c"});

  const Parsed again(words_with({}, Parsed({}).app, typed_flags(before.app)));

  EXPECT_EQ(again.flags.settings.data.files, (Words{"b", "a"}));
  EXPECT_EQ(again.flags.settings.data.validation_files, (Words{"d", "c"}));
}

std::vector<std::string> changes(const Words& before, const Words& now) {
  const Parsed first(before), second(now);
  return changes_since(typed_flags(first.app), second.app);
}

TEST_F(Effects, OtherDataIsAskedForByTheFlagsOfTheDataAlone) {
  EXPECT_TRUE(asks_for_other_data(changes({}, {"--data=a"})));
  EXPECT_TRUE(asks_for_other_data(changes({}, {"--validation-data=a"})));
  EXPECT_TRUE(asks_for_other_data(changes({"--held-out=0.2"}, {"--held-out=0.3"})));
  EXPECT_FALSE(asks_for_other_data(changes({"--data=a"}, {"--data=a"})));
  EXPECT_FALSE(asks_for_other_data(changes({}, {"--data-order=sequential", "--data-bucket=7"})));
  EXPECT_FALSE(asks_for_other_data({}));
}

TEST_F(Effects, ValuesThatAreTheSameNumberAreNoChange) {
  EXPECT_EQ(changes({"--learning-rate=0.004"}, {"--learning-rate=4e-3"}), Words{});
  EXPECT_EQ(changes({"--batch=16"}, {"--batch=16"}), Words{});
  EXPECT_EQ(changes({"--data=1e1"}, {"--data=10", "11"}), (Words{"--data 10 11 instead of 1e1"}));
  EXPECT_EQ(changes({"--data", "a", "b"}, {"--data", "b", "a"}),
            (Words{"--data b a instead of a b"}));
  EXPECT_EQ(changes({"--validation-data=a"}, {"--validation-data=b"}),
            (Words{"--validation-data b instead of a"}));
  EXPECT_EQ(changes({}, {"--clip=0.5", "--beta2=0.5"}),
            (Words{"--clip 0.5 instead of 1", "--beta2 0.5 instead of 0.95"}));
}

TrainSettings settings_from(const Words& words) {
  const Parsed parsed(words);
  return settings_of(parsed.flags);
}

std::string refused(const Words& words) {
  return refusal<std::exception>([&] { settings_from(words); });
}

TEST_F(Effects, RanksAndGridsMustAgree) {
  EXPECT_EQ(grid_of("", 0, 3), ProcessGrid(1, 1, 1, 3));
  EXPECT_EQ(grid_of("", 5, 3), ProcessGrid(1, 1, 1, 5));
  EXPECT_EQ(grid_of("2x1x3x1", 0, 3), ProcessGrid(2, 1, 3, 1));
  EXPECT_EQ(grid_of("2x1x3x1", 6, 3), ProcessGrid(2, 1, 3, 1));
  EXPECT_EQ(refusal<std::exception>([] { grid_of("2x1x3x1", 5, 6); }),
            "grid 2x1x3x1 has 6 ranks, not 5; --ranks may be left out where --grid is given");
  EXPECT_EQ(refusal<std::exception>([] { expect_ranks(ProcessGrid(2, 1, 1, 2), 3); }),
            "grid 2x1x1x2 needs 4 ranks, but mpirun has started 3");
  EXPECT_EQ(refusal<std::exception>([] { expect_ranks(ProcessGrid(1, 1, 1, 1), 2); }),
            "grid 1x1x1x1 needs 1 rank, but mpirun has started 2");
  EXPECT_EQ(refusal<std::exception>([] { expect_ranks(ProcessGrid(1, 2, 1, 1), 2); }), "accepted");
}

TEST_F(Effects, ABatchMustDivideAndBeCounted) {
  EXPECT_EQ(refused({"--grid=1x1x2x2", "--micro-batches=3", "--batch=18"}),
            "a batch of 18 sequences does not divide on grid 1x1x2x2; --batch must be a multiple "
            "of micro-batches x z x data = 12");
  EXPECT_EQ(refused({"--grid=1x1x2x2", "--micro-batches=3", "--batch=24"}), "accepted");
  TrainFlags long_sequences;
  long_sequences.known_model = Model{"long", 1, 32, 4, std::int64_t{1} << 30, 256};
  const auto of = [&](std::int64_t batch) {
    long_sequences.ranks = 1;
    long_sequences.settings.batch = batch;
    return refusal<std::exception>([&] { settings_of(long_sequences); });
  };
  EXPECT_EQ(of(64), "accepted");
  EXPECT_EQ(of(65), "a batch of 65 sequences is more than the 64 whose tokens are counted");
}

TEST_F(Effects, RanksLieWhereMpirunPutsThem) {
  const std::string sentence =
      "--rank-order data,x,y,z,pipe is projected only: ranks lie where mpirun puts them, by its "
      "--map-by";
  EXPECT_EQ(refused({"--ranks=4", "--rank-order=data,x,y,z,pipe"}), sentence);
  EXPECT_EQ(refused({"--grid=2x1x1x2", "--rank-order=data,x,y,z,pipe"}), sentence);
  EXPECT_EQ(refused({"--pad-vocabulary=128"}).find("--pad-vocabulary 128 is projected only: "), 0U);
}

TEST_F(Effects, OpenBlasKeepsItsCoreWhereThatIsAskedFor) {
  EXPECT_EQ(core_wish("keep"), CoreWish::keep);
  EXPECT_EQ(core_wish("auto"), CoreWish::repair);
}

TEST_F(Effects, RangesEndWhereTheySay) {
  struct Range {
    const char* flag;
    const char* inside;
    const char* outside;
  };
  for (const Range& range : std::vector<Range>{{"--minutes", "5256000", "5256001"},
                                               {"--goldfish-k", "0", "-1"},
                                               {"--goldfish-h", "1", "0"},
                                               {"--batch", "1", "0"},
                                               {"--last-learning-rate", "1", "1.01"},
                                               {"--beta2", "0", "-0.1"},
                                               {"--seed", "0", "-1"},
                                               {"--sample-seed", "0", "-1"},
                                               {"--openblas-core", "auto", "best"}}) {
    const auto accepted = [&](const char* word) {
      return refused({"--ranks=1", std::string(range.flag) + "=" + word}) == "accepted";
    };
    EXPECT_TRUE(accepted(range.inside)) << range.flag;
    EXPECT_FALSE(accepted(range.outside)) << range.flag;
  }
}

}  // namespace
}  // namespace fourfold::tests
