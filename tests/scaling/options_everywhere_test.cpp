// Every option of a step and every what-if is where people and programs look for it: in both helps,
// in records, in campaigns and in docs/campaigns.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "scaling/records/record_json.hpp"
#include "scaling/study/campaign.hpp"
#include "sim/question/point_json.hpp"
#include "support/field.hpp"
#include "tests/paths.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

const std::vector<FieldFacts>& options() {
  return step_fields().facts();
}

std::string printed_by(const std::string& words) {
  const std::string command = executable_path("fourfold") + " " + words;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int letter; (letter = fgetc(pipe.get())) != EOF;) text += static_cast<char>(letter);
  return text;
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
    const std::string help = printed_by(std::string(verb) + " --help");
    for (const FieldFacts& field : options()) {
      ASSERT_FALSE(field.flag.empty()) << field.key;
      EXPECT_THAT(help, HasSubstr("  " + field.flag + " ")) << verb;
    }
    for (const char* overlap : {"oar", "ors", "oag"}) EXPECT_THAT(help, HasSubstr(overlap)) << verb;
  }
}

TEST(EveryOption, IsInTheRecordAndComesBack) {
  const std::string text = to_json(made_up_record());
  for (const FieldFacts& field : options()) {
    std::string path = "/point/options/" + field.key;
    std::replace(path.begin(), path.end(), '.', '/');
    const nlohmann::json::json_pointer place(path);
    nlohmann::json record = nlohmann::json::parse(text);
    ASSERT_TRUE(record.contains(place)) << path;
    const FieldValue before = step_fields().values(made_up_record().point.options).at(field.key);
    const nlohmann::json other = nlohmann::json::parse(another(field, before));
    record[place] = other;

    const Record again = record_from_json(record.dump());

    EXPECT_EQ(nlohmann::json::parse(to_json(again)).at(place), other) << path;
    EXPECT_NE(step_fields().values(again.point.options).at(field.key), before) << path;
  }
}

TEST(EveryOption, ButMicroBatchesIsReadFromCampaigns) {
  const TemporaryFolder folder;
  const FieldValues usual = step_fields().values({});
  for (const FieldFacts& field : options()) {
    if (field.key == "micro_batches") continue;  // of a point
    const std::string path = folder.file("campaign.toml");
    write_content(path, campaign_with(field.key + " = " + another(field, usual.at(field.key))));

    const Campaign campaign = read_campaign(path);

    const FieldValues read = step_fields().values(campaign.questions.front().options);
    EXPECT_NE(read.at(field.key), usual.at(field.key)) << field.key;
  }
}

// To renew the document, paste what the failure prints.
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
  const std::string help = printed_by("project --help");
  const std::string document = content_of(source_path("docs/campaigns.md"));
  ASSERT_GE(what_if_fields().facts().size(), 7U);
  for (const FieldFacts& field : what_if_fields().facts()) {
    EXPECT_THAT(help, HasSubstr("  " + field.flag + " "));
    EXPECT_THAT(document, HasSubstr("\n| `" + field.key + "` | "));
  }
}

}  // namespace
}  // namespace fourfold::tests
