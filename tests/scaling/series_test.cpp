// Which points of a study make one curve, and what their figures and tables say of them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "scaling/study/figure.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/study/study.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/study/sweep_lines.hpp"
#include "tests/scaling/csv_rows.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Record record_of(std::int64_t devices, double seconds, const std::string& model = "gpt-80b") {
  Record record = made_up_record();
  record.point.grid = ProcessGrid(devices, 1, 1, 1);
  record.point.model.name = model;
  record.outcome.total = {seconds};
  return record;
}

// Two batches of one model: the second is four times as large.
Study of_two_batches() {
  std::vector<Record> records{record_of(8, 40), record_of(16, 20), record_of(8, 160),
                              record_of(16, 100)};
  for (std::size_t i = 2; i < 4; ++i) records[i].point.global_batch *= 4;
  const PointTag small{"batch_tokens = 4", 4.0, 1, "batch_tokens"};
  const PointTag large{"batch_tokens = 16", 16.0, 1, "batch_tokens"};
  Campaign campaign;
  campaign.title = "Batches";
  campaign.tokens = 1e12;
  return make_study(campaign, records, {small, small, large, large});
}

TEST(Series, OfABatchBeginWithTheirOwnFewestDevices) {
  const Study study = of_two_batches();

  EXPECT_THAT(series_of(study), ElementsAre("gpt-80b on frontier, batch_tokens = 4",
                                            "gpt-80b on frontier, batch_tokens = 4",
                                            "gpt-80b on frontier, batch_tokens = 16",
                                            "gpt-80b on frontier, batch_tokens = 16"));
  EXPECT_DOUBLE_EQ(study.rows[3].ideal_rate.value, 2 * study.rows[2].record.rate().value);
  // 160 s to 100 s, not 40 s of a quarter of the tokens to 100 s.
  EXPECT_THAT(figure_csv("strong", study), HasSubstr("gpt-80b on frontier; batch_tokens = 16,16,"));
  EXPECT_THAT(figure_csv("strong", study), HasSubstr(",1.6,0.8,"));
  EXPECT_THAT(run_table(study), HasSubstr("batch_tokens = 16"));
  EXPECT_THAT(run_table(study), HasSubstr("1.60"));
}

TEST(Series, AreOfAModelUnlessItGrowsWithTheDevices) {
  const std::vector<Record> weak{record_of(8, 1, "small"), record_of(16, 1, "large")};
  EXPECT_THAT(series_of(make_study({}, weak)), ElementsAre("frontier", "frontier"));

  const std::vector<Record> strong{record_of(8, 1, "small"), record_of(8, 1, "large")};
  EXPECT_THAT(series_of(make_study({}, strong)),
              ElementsAre("small on frontier", "large on frontier"));
}

TEST(Series, OfOneModelHaveOneNameInAllFigures) {
  const Study study = make_study({}, {record_of(8, 2), record_of(16, 1)});

  EXPECT_THAT(series_of(study), ElementsAre("gpt-80b on frontier", "gpt-80b on frontier"));
  EXPECT_THAT(figure_csv("strong", study), HasSubstr("\ngpt-80b on frontier,16,"));
}

TEST(Changes, SayNothingInATableWhereNothingIsCompared) {
  const PointTag slow{"slow", {}, 1, "slow"}, fast{"fast", {}, 1, "fast"};
  const PointTag again{"slow", {}, 2, "slow"};
  const std::vector<Record> records{record_of(8, 2), record_of(16, 1), record_of(16, 3)};

  EXPECT_EQ(sweep_table(make_study({}, {records[0], records[1]}, {slow, slow})), "");
  EXPECT_THAT(sweep_table(make_study({}, records, {slow, slow, fast})), HasSubstr("+200.0"));
  EXPECT_THAT(sweep_table(make_study({}, records, {slow, slow, again})), HasSubstr("2: 100.0"));
}

TEST(Changes, NameWhatTheyAreComparedWith) {
  const PointTag plain{"as it is", {}, 1, "as it is"}, slow{"slow", {}, 1, "slow"};
  const std::vector<Record> records{record_of(8, 2), record_of(8, 3), record_of(16, 1)};

  EXPECT_EQ(reference_text(make_study({}, records, {plain, slow, plain})), "as it is");
  EXPECT_EQ(reference_text(make_study({}, records, {plain, slow, slow})),
            "the first of each point");
  EXPECT_EQ(reference_text(make_study({}, records, {{}, slow, {}})), "without a label");
}

TEST(Series, HaveTheirLabelsAndBatchesInTheCsv) {
  const std::string csv = study_csv(of_two_batches());

  EXPECT_THAT(csv, HasSubstr(",series,label,value,repetition,batch_sequences,batch_tokens,"));
  EXPECT_THAT(csv, HasSubstr(",gpt-80b on frontier; batch_tokens = 16,batch_tokens = 16,16,1,"));
}

TEST(Series, OfChangesAreTheirModelsAndDevices) {
  // Each of two models as it is, and with twice and four times the bandwidth.
  std::vector<Record> records;
  std::vector<PointTag> tags;
  for (const char* model : {"small", "large"}) {
    for (double bandwidth : {1.0, 2.0, 4.0}) {
      records.push_back(record_of(8, 10 / bandwidth, model));
      tags.push_back({"", bandwidth, 1, "bandwidth"});
      tags.back().label = "bandwidth = 1";
    }
  }
  const std::string csv = figure_csv("lines", make_study({}, records, tags));

  EXPECT_THAT(csv, HasSubstr("\nbandwidth; small,2,-50,"));
  EXPECT_THAT(csv, HasSubstr("\nbandwidth; large,4,-75,"));
}

TEST(Series, OfChangesGoOnWhereTheModelGrowsWithTheDevices) {
  const std::vector<Record> records{record_of(8, 10, "small"), record_of(8, 12, "small"),
                                    record_of(16, 10, "large"), record_of(16, 13, "large")};
  const std::vector<PointTag> tags{{"as it is", {}, 1, "as it is"},
                                   {"slow", {}, 1, "slow"},
                                   {"as it is", {}, 1, "as it is"},
                                   {"slow", {}, 1, "slow"}};
  const std::string csv = figure_csv("lines", make_study({}, records, tags));

  EXPECT_THAT(csv, HasSubstr("\nslow,8,20,"));
  EXPECT_THAT(csv, HasSubstr("\nslow,16,30,"));
}

TEST(Series, OfChangesKeepTheirNameWhereAnotherModelIsMissing) {
  const std::vector<Record> records{record_of(8, 10, "small"), record_of(8, 12, "small"),
                                    record_of(16, 10, "small"), record_of(16, 13, "small"),
                                    record_of(16, 30, "large")};
  const PointTag as_it_is{"as it is", {}, 1, "as it is"}, slow{"slow", {}, 1, "slow"};
  const std::string csv =
      figure_csv("lines", make_study({}, records, {as_it_is, slow, as_it_is, slow, as_it_is}));

  EXPECT_THAT(csv, HasSubstr("\nslow; small,8,20,"));
  EXPECT_THAT(csv, HasSubstr("\nslow; small,16,30,"));
}

TEST(Series, LeaveOutPointsWithoutAPlaceOnTheAxis) {
  const std::vector<Record> records{record_of(8, 10), record_of(8, 12), record_of(8, 15)};
  const std::vector<PointTag> tags{
      {"as it is", {}, 1, "as it is"}, {"slow", {}, 1, "slow"}, {"nic = 2", 2.0, 1, "nic"}};
  const std::string csv = figure_csv("lines", make_study({}, records, tags));

  EXPECT_THAT(csv, HasSubstr("\nnic,2,50,"));
  EXPECT_THAT(csv, Not(HasSubstr("slow")));
}

TEST(Series, ThatAreTooManyToReadAreWrittenButNotDrawn) {
  const TemporaryFolder folder;
  std::vector<Record> records;
  std::vector<PointTag> tags;
  for (int i = 0; i <= 201; ++i) {
    records.push_back(record_of(8, 10.0 + i));
    const std::string label = "change " + std::to_string(i);
    tags.push_back({label, {}, 1, label});
  }
  const Study study = make_study({}, records, tags);

  for (const std::string kind : {"machines", "lines"}) {
    EXPECT_THAT(draw_figures({kind}, study, folder.file("")).said,
                StartsWith("nothing to draw for " + kind + ": more than 200 bars or lines"));
    EXPECT_THAT(content_of(folder.file(kind + ".csv")), HasSubstr("change 201"));
  }
}

TEST(Study, NamesPublishedRowsThatAreNoPoint) {
  const TemporaryFolder folder;
  write_content(folder.file("rows.csv"),
                "machine,devices,model,batch_s,pflops\n"
                "frontier,8,gpt-80b,16,\nfrontier,8,gpt-81b,16,\n");
  Campaign campaign;
  campaign.published = folder.file("rows.csv");
  Question question;
  question.platform = "frontier";
  question.devices = 8;
  question.model = made_up_record().point.model;
  campaign.questions = {question};
  const Study study = make_study(campaign, {record_of(8, 16)});

  EXPECT_THAT(study.unmatched, ElementsAre("gpt-81b on 8 devices of frontier"));
  EXPECT_THAT(study_table(study), HasSubstr("no point of this campaign: 1, such as gpt-81b on 8"));
}

TEST(Study, CountsAPublishedRunOnceForAllRepetitions) {
  const TemporaryFolder folder;
  write_content(folder.file("rows.csv"),
                "machine,devices,model,batch_s,pflops\nfrontier,8,gpt-80b,16,\n");
  Campaign campaign;
  campaign.published = folder.file("rows.csv");
  const std::vector<PointTag> tags{{"", {}, 1, ""}, {"", {}, 2, ""}};
  const std::string table =
      study_table(make_study(campaign, {record_of(8, 16), record_of(8, 17)}, tags));

  EXPECT_THAT(table, ::testing::ContainsRegex("\nfrontier +1 +0\\.00 "));
}

// The study of these sweeps on one point, of which each answer takes a second more.
Study of_sweeps(const std::string& sweeps) {
  std::vector<Record> records;
  std::vector<PointTag> tags;
  for (const SweptPoint& point :
       swept(nlohmann::json::parse(R"({"devices": 8})"), nlohmann::json::parse(sweeps))) {
    tags.push_back({point.label, point.value, 1, point.line, point.rest});
    records.push_back(record_of(8, static_cast<double>(tags.size())));
  }
  return make_study({}, records, tags);
}

// Of sweeps by keys every line has the points of its own label, each once.
TEST(Lines, OfSeveralSweepsHaveTheirOwnPointsAlone) {
  const std::string zero = R"({"key": "options.zero", "values": [0, 1, 3]})";
  const std::string blocks = R"({"key": "options.in_flight_blocks", "values": [1, 2]})";
  const std::string words = R"({"key": "options.recompute", "values": ["full", "none"]})";
  const std::string one = R"({"key": "options.chunks", "values": [1]})";
  for (const std::vector<std::string>& sweeps :
       std::vector<std::vector<std::string>>{{zero},
                                             {zero, blocks},
                                             {blocks, zero},
                                             {words, zero},
                                             {zero, words},
                                             {words, one},
                                             {zero, words, blocks},
                                             {words, zero, one}}) {
    const Study study = of_sweeps(fmt::format("[{}]", fmt::join(sweeps, ",")));
    SCOPED_TRACE(study.rows.front().label);
    std::set<double> drawn;
    for (const CsvRow& row : csv_rows(figure_csv("lines", study))) {
      const auto place = static_cast<std::size_t>(row.number("seconds")) - 1;
      EXPECT_EQ(row.text("series"), csv_cell(study.rows.at(place).line));
      EXPECT_EQ(row.number("x"), study.rows.at(place).value);
      EXPECT_TRUE(drawn.insert(row.number("seconds")).second);
    }
    // The reference is drawn besides.
    EXPECT_GE(drawn.size() + 1, study.rows.size());
  }
}

// A list has one point for all its lines, and with another sweep each of that one's lines its own.
TEST(Lines, OfAListBeginWhereNothingIsChanged) {
  const std::string list =
      R"({"list": [{"label": "as it is", "value": 1}, {"label": "links", "value": 2},
                   {"label": "links", "value": 4}, {"label": "nics", "value": 0.5}]})";
  const std::string words = R"({"key": "options.recompute", "values": ["full", "none"]})";
  const auto line = [](const std::vector<CsvRow>& rows, const std::string& name) {
    std::vector<double> seconds;
    for (const CsvRow& row : rows) {
      if (row.text("series") == name) seconds.push_back(row.number("seconds"));
    }
    return seconds;
  };

  const auto alone = csv_rows(figure_csv("lines", of_sweeps('[' + list + ']')));
  EXPECT_THAT(line(alone, "links"), ElementsAre(1, 2, 3));
  EXPECT_THAT(line(alone, "nics"), ElementsAre(4, 1));
  EXPECT_EQ(alone.size(), 5U);
  const auto both = csv_rows(figure_csv("lines", of_sweeps('[' + words + ',' + list + ']')));
  EXPECT_THAT(line(both, "recompute = full; links"), ElementsAre(1, 2, 3));
  EXPECT_THAT(line(both, "recompute = none; links"), ElementsAre(5, 6, 7));
  EXPECT_THAT(line(both, "recompute = none; nics"), ElementsAre(8, 5));
  EXPECT_EQ(both.size(), 10U);
}

// The key of the last sweep with numbers, wherever it stands; of several sweeps the table says so.
TEST(Lines, SayWhichSweepGivesTheAxis) {
  const std::string zero = R"({"key": "options.zero", "values": [0, 1]})";
  const std::string blocks = R"({"key": "options.in_flight_blocks", "values": [1, 2]})";
  const std::string words = R"({"key": "options.recompute", "values": ["full", "none"]})";
  for (const auto& [sweeps, axis] : {std::pair{zero, "zero"},
                                     {zero + ',' + blocks, "in_flight_blocks"},
                                     {blocks + ',' + zero, "zero"},
                                     {zero + ',' + words, "zero"},
                                     {words + ',' + zero, "zero"}}) {
    const Study study = of_sweeps('[' + sweeps + ']');

    EXPECT_EQ(axis_text(study), axis);
    const std::string said = fmt::format("The axis of the figure lines is {}, the last", axis);
    EXPECT_EQ(sweep_table(study).find(said) != std::string::npos, sweeps != zero);
  }
}

}  // namespace
}  // namespace fourfold::tests
