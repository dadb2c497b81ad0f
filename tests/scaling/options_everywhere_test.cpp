// Every option of a step and every what-if is where people look for it: in both helps, in campaigns
// and in docs/campaigns.md; and the words of the trade are answered with words that are known here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "platforms/platform.hpp"
#include "platforms/software.hpp"
#include "scaling/study/campaign.hpp"
#include "scaling/systems/system.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/program/step_options.hpp"
#include "sim/question/point_json.hpp"
#include "support/counts_of_1024.hpp"
#include "support/field.hpp"
#include "support/nearest_name.hpp"
#include "support/trade_words.hpp"
#include "tests/paths.hpp"
#include "tests/scaling/printed.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const std::vector<FieldFacts>& options() {
  return step_fields().facts();
}

// Another value than `usual`, as TOML and JSON write it.
std::string another(const FieldFacts& field, const FieldValue& usual) {
  if (const auto* range = std::get_if<WholeNumber>(&field.kind)) {
    const std::int64_t number = std::get<std::int64_t>(usual);
    return std::to_string(number < range->most ? number + 1 : number - 1);
  }
  if (const auto* one = std::get_if<OneWord>(&field.kind)) {
    return '"' + one->words[one->words.front() == std::get<std::string>(usual) ? 1 : 0] + '"';
  }
  if (field.key == "layers_per_stage") return R"("11,13")";
  if (std::holds_alternative<FreeText>(field.kind)) return R"("x,y,z,pipe,data")";
  return std::get<bool>(usual) ? "false" : "true";
}

std::string campaign_with(const std::string& option) {
  return "title = \"One option\"\nbatch_tokens = 65_536\n[options]\n" + option +
         "\n[[machine]]\nplatform = \"frontier\"\n"
         "points = [{ devices = 16, model = \"gpt-5b\" }]\n";
}

// The cells of docs/campaigns.md that tell what a field may be and what it is without a word.
std::string values_cell(const FieldFacts& field) {
  if (const auto* range = std::get_if<WholeNumber>(&field.kind)) {
    return std::to_string(range->least) + " to " + std::to_string(range->most);
  }
  if (std::holds_alternative<OnOff>(field.kind)) return "true, false";
  if (std::holds_alternative<FreeText>(field.kind)) return "text";
  std::string cell;
  for (const std::string& word : std::get<OneWord>(field.kind).words) {
    cell += (cell.empty() ? "`\"" : ", `\"") + word + "\"`";
  }
  return cell;
}

std::string meaning_cell(const FieldFacts& field, const FieldValue& usual) {
  if (const auto* number = std::get_if<std::int64_t>(&usual)) {
    return field.help + "; " + std::to_string(*number);
  }
  if (const auto* word = std::get_if<std::string>(&usual)) {
    return field.help + "; `\"" + *word + "\"`";
  }
  const std::size_t dot = field.key.find('.');
  if (dot != std::string::npos) return "in `" + field.key.substr(0, dot) + "`: " + field.help;
  return field.help + (std::get<bool>(usual) ? "; true" : "; false");
}

std::string row(const FieldFacts& field, const FieldValue& usual) {
  return "| `" + field.key.substr(field.key.find('.') + 1) + "` | " + values_cell(field) + " | " +
         meaning_cell(field, usual) + " |\n";
}

TEST(EveryOption, IsInTheHelpOfWhatProjectsAndOfWhatTrains) {
  for (const char* verb : {"project", "train"}) {
    const std::string help = printed_by(std::string(verb) + " --help").text;
    for (const FieldFacts& field : options()) {
      ASSERT_FALSE(field.flag.empty()) << field.key;
      EXPECT_THAT(help, HasSubstr("  " + field.flag + " ")) << verb;
    }
    for (const char* overlap : {"oar", "ors", "oag"}) EXPECT_THAT(help, HasSubstr(overlap)) << verb;
  }
}

TEST(EveryOption, ButMicroBatchesIsReadFromCampaigns) {
  const FieldValues usual = step_fields().values({});
  for (const FieldFacts& field : options()) {
    if (field.key == "micro_batches") continue;  // of a point
    const Campaign campaign =
        read_from(campaign_with(field.key + " = " + another(field, usual.at(field.key))),
                  [](const std::string& path) { return read_campaign(path); });

    const FieldValues read = step_fields().values(campaign.questions.front().options);
    EXPECT_NE(read.at(field.key), usual.at(field.key)) << field.key;
  }
}

// Whoever goes on with a training is told of a change of these, and of no other option of the step.
TEST(EveryOption, SaysWhetherItChangesTheNumbersOfATraining) {
  std::vector<std::string> changing;
  for (const FieldFacts& field : options()) {
    if (field.numbers) changing.push_back(field.key);
  }
  EXPECT_THAT(changing, testing::UnorderedElementsAre("precision", "products", "attention",
                                                      "grad_reduce_precision_z",
                                                      "grad_reduce_precision_data"));
}

// To renew the document, paste what the failure prints.
TEST(EveryOption, HasItsLineInTheDocument) {
  const std::string document = content_of(source_path("docs/campaigns.md"));
  const FieldValues usual = step_fields().values({});
  for (const FieldFacts& field : options()) {
    const std::string line = field.key == "micro_batches"
                                 ? "| `micro_batches` | number | of a point; searched |\n"
                                 : row(field, usual.at(field.key));
    EXPECT_NE(document.find(line), std::string::npos) << "the document lacks:\n" << line;
  }
  for (const FieldFacts& field : model_fields().facts()) {
    const std::string line = "| `" + field.key + "` | " + field.help + " |\n";
    EXPECT_NE(document.find(line), std::string::npos) << "the document lacks:\n" << line;
  }
}

TEST(EveryWhatIf, IsAFlagAKeyOfCampaignsAndInTheDocument) {
  const std::string help = printed_by("project --help").text;
  const std::string document = content_of(source_path("docs/campaigns.md"));
  ASSERT_GE(what_if_fields().facts().size(), 7U);
  for (const FieldFacts& field : what_if_fields().facts()) {
    EXPECT_THAT(help, HasSubstr("  " + field.flag + " "));
    EXPECT_THAT(document, HasSubstr("\n| `" + field.key + "` | "));
  }
}

// --- words of the trade

// Flags that the helps of the verbs begin lines with.
Words all_flags() {
  std::set<std::string> flags;
  for (const char* verb : {"project", "search", "advise", "train", "compare"}) {
    std::istringstream words(printed_by(std::string(verb) + " --help").text);
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
