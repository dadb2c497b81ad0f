// The words of the trade are answered with words that are known here, whatever else is alike.
#include "support/trade_words.hpp"

#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>

#include "platforms/platform.hpp"
#include "platforms/software.hpp"
#include "scaling/systems/system.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"
#include "support/counts_of_1024.hpp"
#include "support/field.hpp"
#include "support/nearest_name.hpp"
#include "tests/paths.hpp"

namespace fourfold::tests {
namespace {

using Words = std::vector<std::string>;

// Flags that the helps of the verbs begin lines with.
Words all_flags() {
  std::set<std::string> flags;
  for (const char* verb : {"project", "search", "advise", "train", "compare"}) {
    const std::string command = executable_path("fourfold") + " " + verb + " --help";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text;
    for (int letter; (letter = fgetc(pipe.get())) != EOF;) text += static_cast<char>(letter);
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      word = word.substr(0, word.find_first_of(",;:.)"));
      if (word.starts_with("--")) flags.insert(word);
    }
  }
  return {flags.begin(), flags.end()};
}

Words option_words() {
  Words words;
  for (const FieldFacts& field : step_fields().facts()) {
    const auto* one = std::get_if<OneWord>(&field.kind);
    if (one != nullptr) words.insert(words.end(), one->words.begin(), one->words.end());
  }
  return words;
}

TEST(TradeWords, EachMeansSomethingThatIsKnownAndIsAnsweredWithIt) {
  const std::vector<Words> kinds{all_flags(),     known_platforms(), known_models(),
                                 known_systems(), known_software(),  option_words()};

  for (const TradeWords& words : trade_words()) {
    for (const std::string& meant : words.meant) {
      const std::string name = meant.substr(0, meant.find(' '));
      const bool flag = name.starts_with("--");
      const auto kind = std::ranges::find_if(
          kinds, [&](const Words& known) { return std::ranges::count(known, name) > 0; });
      ASSERT_NE(kind, kinds.end()) << meant;
      for (const std::string& said : words.said) {
        const std::string typed = (flag ? "--" : "") + said;
        Words known = *kind;  // as in a verb that has the last of the meanings alone
        for (const std::string& other : words.meant) {
          if (other != meant) std::erase(known, other.substr(0, other.find(' ')));
        }
        if (std::ranges::count(known, typed) > 0) continue;
        const std::string answer = did_you_mean(typed, known);
        EXPECT_EQ(nearest_name(typed, known), name) << typed;
        EXPECT_NE(answer.find(words.instead.empty() ? meant : words.instead), std::string::npos)
            << typed << answer;
      }
    }
  }
}

TEST(TradeWords, AreSaidOnceForEachKindOfWord) {
  std::set<std::string> seen;
  for (const TradeWords& words : trade_words()) {
    const bool flag = words.meant.front().starts_with("--");
    for (const std::string& said : words.said) {
      EXPECT_TRUE(seen.insert((flag ? "--" : "") + bare_word(said) +
                              (flag ? "" : words.meant.front().substr(0, 2)))
                      .second)
          << said;
    }
  }
}

TEST(NearestName, GoesByMeaningFirstAndByLettersLast) {
  for (const auto& [typed, known, meant] :
       {std::tuple{"h100", known_platforms(), "dgx-h100"},
        std::tuple{"Llama3-8B", known_models(), "llama3.1-8b"},
        std::tuple{"meta-llama/Llama-3.1-70B-Instruct", known_models(), "llama3.1-70b"},
        std::tuple{"gpt3", known_models(), "gpt3-175b"},
        std::tuple{"zero3", known_systems(), "deepspeed-zero-3"},
        std::tuple{"1F1B", option_words(), "1f1b"},
        std::tuple{"forntier", known_platforms(), "frontier"}}) {
    EXPECT_EQ(nearest_name(typed, known), meant);
  }
}

TEST(Grids, AreReadByTheNamesOfTheTrade) {
  EXPECT_EQ(ProcessGrid::parse("tp=8,pp=4,dp=16,cp=1"), ProcessGrid(8, 1, 1, 16, 4));
  EXPECT_EQ(ProcessGrid::parse("TP=8,stages=4,FSDP=2"), ProcessGrid(8, 1, 2, 1, 4));
  EXPECT_THROW(ProcessGrid::parse("tp=8,cp=2"), std::invalid_argument);
}

TEST(FlagChecks, ACountMayHaveAUnit) {
  for (const auto& [typed, meant] :
       {std::pair{"4M", "4194304"}, std::pair{"0.5M", "524288"}, std::pair{"8k", "8192"},
        std::pair{"16Mi", "16777216"}, std::pair{"1B", "1073741824"}, std::pair{"7", "7"}}) {
    std::string word = typed;
    EXPECT_EQ(counts_of_1024()(word), "") << typed;
    EXPECT_EQ(word, meant);
  }
  std::string part = "0.3k";
  EXPECT_NE(counts_of_1024()(part), "");
}

}  // namespace
}  // namespace fourfold::tests
