// The table, the CSV and the comparison with published rows, on made-up records.
#include "scaling/study/study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/study/study_table.hpp"
#include "scaling/words/text_table.hpp"
#include "tests/paths.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

constexpr const char* rows =
    "# source: made up\nmachine,devices,model,batch_s,pflops\n"
    "frontier,8192,gpt-80b,16,600\nfrontier,1024,gpt-80b,,50\n";

Record smaller_record() {
  Record record = made_up_record();
  record.point.grid = ProcessGrid(2, 8, 32, 2);
  record.point.platform = "/somewhere/frontier.toml";
  record.model_flops = {1e18};
  record.verdict = "capped";
  return record;
}

Study made_up_study() {
  const TemporaryFolder folder;
  write_content(folder.file("rows.csv"), rows);
  Campaign campaign;
  campaign.title = "Made up";
  campaign.published = folder.file("rows.csv");
  const std::vector<Record> records{smaller_record(), made_up_record()};
  for (const Record& record : records) {
    Question question;
    question.platform = record.point.platform;
    question.model = record.point.model;
    question.devices = record.devices();
    campaign.questions.push_back(question);
  }
  return make_study(campaign, records);
}

TEST(Study, ComparesWithPublishedSeconds) {
  const Study study = made_up_study();

  EXPECT_EQ(study.rows[1].published->value, 16.0);
  EXPECT_FALSE(study.rows[1].derived);
  EXPECT_DOUBLE_EQ(*study.rows[1].deviation(), 0.25);
}

TEST(Study, DerivesSecondsWhereOnlyFlopsWerePublished) {
  // 1e18 model flops at 50 Pflop/s take 20 s, as long as the record says.
  const Study study = made_up_study();

  EXPECT_TRUE(study.rows[0].derived);
  EXPECT_DOUBLE_EQ(study.rows[0].published->value, 20.0);
  EXPECT_DOUBLE_EQ(*study.rows[0].deviation(), 0.0);
}

TEST(Study, IdealGrowsFromTheSmallestPointOfTheMachine) {
  // 1,024 devices give 1e18 / 20 s, so 8,192 would ideally give eight times that.
  EXPECT_DOUBLE_EQ(made_up_study().rows[1].ideal_rate.value, 8 * 1e18 / 20.0);
}

TEST(Study, TableIsAsExpected) {
  const std::string table = study_table(made_up_study());

  EXPECT_EQ(table, content_of(source_path("tests/golden/study_table.txt"))) << table;
}

TEST(Study, CsvHasACellForEveryColumn) {
  const std::string csv = study_csv(made_up_study());

  std::vector<std::int64_t> commas{0};
  bool quoted = false;
  for (char letter : csv) {
    if (letter == '"') quoted = !quoted;
    if (letter == ',' && !quoted) ++commas.back();
    if (letter == '\n') commas.push_back(0);
  }
  EXPECT_EQ(commas, (std::vector<std::int64_t>{commas[0], commas[0], commas[0], 0}));
  EXPECT_THAT(csv,
              HasSubstr("\nfrontier,8192,gpt-80b,32000,simulated,2x8x32x16,2,19.5,21.9375,20,"));
}

TEST(TextTable, AlignsAndDropsTrailingBlanks) {
  const TextTable table{{{"name", "", Align::left}, {"value", "s"}},
                        {{"a", "1.00"}, {}, {"longer", "12.50"}}};

  EXPECT_EQ(format(table),
            "name    value\n"
            "            s\n"
            "-------------\n"
            "a        1.00\n"
            "-------------\n"
            "longer  12.50\n");
}

TEST(TextTable, AlignsLettersOfSeveralBytes) {
  const TextTable table{{{"name", "", Align::left}, {"value", ""}}, {{"für", "1"}, {"for", "2"}}};

  EXPECT_THAT(format(table), HasSubstr("für       1\nfor       2\n"));
}

TEST(TextTable, RefusesARowThatLacksCells) {
  EXPECT_THROW(format({{{"a", ""}, {"b", ""}}, {{"1"}}}), std::logic_error);
}

}  // namespace
}  // namespace fourfold::tests
