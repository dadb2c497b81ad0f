// Which points of a study make one curve, what its figures and tables say of them, and how it is
// compared with published rows.
#include "scaling/study/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "scaling/study/figure.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/study/published.hpp"
#include "scaling/study/speedup.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/study/sweep_lines.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/csv_rows.hpp"
#include "tests/scaling/made_up_record.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AllOf;
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
  EXPECT_DOUBLE_EQ(speedups(study)[3].ideal_rate.value, 2 * study.rows[2].record.rate().value);
  // 160 s to 100 s, not 40 s of a quarter of the tokens to 100 s.
  EXPECT_THAT(figure_csv("strong", study), HasSubstr("gpt-80b on frontier; batch_tokens = 16,16,"));
  EXPECT_THAT(figure_csv("strong", study), HasSubstr(",1.6,0.8,"));
  EXPECT_THAT(run_table(study), HasSubstr("batch_tokens = 16"));
  EXPECT_THAT(run_table(study), HasSubstr("1.60"));
}

TEST(Series, AreOfAModelUnlessItGrowsWithTheDevices) {
  const auto series = [](const std::vector<Record>& records) {
    return series_of(make_study({}, records));
  };
  EXPECT_THAT(series({record_of(8, 1, "small"), record_of(16, 1, "large")}),
              ElementsAre("frontier", "frontier"));
  EXPECT_THAT(series({record_of(8, 1, "small"), record_of(8, 1, "large")}),
              ElementsAre("small on frontier", "large on frontier"));
  const std::vector<Record> of_one{record_of(8, 2), record_of(16, 1)};
  EXPECT_THAT(series(of_one), ElementsAre("gpt-80b on frontier", "gpt-80b on frontier"));
  EXPECT_THAT(figure_csv("strong", make_study({}, of_one)), HasSubstr("\ngpt-80b on frontier,16,"));
}

// In model flop/s of a device, where the model grows, too; in days of a run if it has tokens.
TEST(Series, OfAGrowingModelAreAsEfficientAsTheirFirstDoes) {
  std::vector<Record> records{record_of(8, 2, "small"), record_of(16, 4, "large")};
  records[0].model_flops = {1e18};
  records[1].model_flops = {3e18};
  Campaign campaign;
  campaign.tokens = 1e12;
  const std::vector<CsvRow> rows = csv_rows(figure_csv("strong", make_study(campaign, records)));

  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].text("series"), rows[1].text("series"));
  EXPECT_DOUBLE_EQ(rows[0].number("efficiency"), 1.0);
  EXPECT_DOUBLE_EQ(rows[1].number("efficiency"), 0.75);
  EXPECT_THAT(study_table(make_study({}, records), Width::whole),
              ::testing::ContainsRegex("\nfrontier +16 +large .* 75\\.0 "));
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

// Named by their change, and by their model where that does not grow with the devices.
TEST(Series, OfChangesAreTheirModelsAndDevices) {
  const PointTag as_it_is{"as it is", {}, 1, "as it is"}, slow{"slow", {}, 1, "slow"};
  const auto lines = [](const std::vector<Record>& records, const std::vector<PointTag>& tags) {
    return figure_csv("lines", make_study({}, records, tags));
  };
  // Each of two models as it is, and with twice and four times the bandwidth.
  std::vector<Record> records;
  std::vector<PointTag> tags;
  for (const char* model : {"small", "large"}) {
    for (double bandwidth : {1.0, 2.0, 4.0}) {
      records.push_back(record_of(8, 10 / bandwidth, model));
      tags.push_back({"bandwidth = 1", bandwidth, 1, "bandwidth"});
    }
  }
  EXPECT_THAT(lines(records, tags), AllOf(HasSubstr("\nbandwidth; small,2,-50,"),
                                          HasSubstr("\nbandwidth; large,4,-75,")));
  EXPECT_THAT(lines({record_of(8, 10, "small"), record_of(8, 12, "small"),
                     record_of(16, 10, "large"), record_of(16, 13, "large")},
                    {as_it_is, slow, as_it_is, slow}),
              AllOf(HasSubstr("\nslow,8,20,"), HasSubstr("\nslow,16,30,")));
  // Where another model is missing the name stays.
  EXPECT_THAT(
      lines({record_of(8, 10, "small"), record_of(8, 12, "small"), record_of(16, 10, "small"),
             record_of(16, 13, "small"), record_of(16, 30, "large")},
            {as_it_is, slow, as_it_is, slow, as_it_is}),
      AllOf(HasSubstr("\nslow; small,8,20,"), HasSubstr("\nslow; small,16,30,")));
  // Points without a place on the axis are left out.
  EXPECT_THAT(lines({record_of(8, 10), record_of(8, 12), record_of(8, 15)},
                    {as_it_is, slow, {"nic = 2", 2.0, 1, "nic"}}),
              AllOf(HasSubstr("\nnic,2,50,"), Not(HasSubstr("slow"))));
}

// Each grid and each system against itself: the mean of its repetitions, the least and the most.
TEST(Changes, AreOfPointsThatAreAlikeInAllElse) {
  for (const bool by_system : {false, true}) {
    std::vector<Record> records;
    std::vector<PointTag> tags;
    for (const double seconds : {10.0, 12.0, 22.0, 44.0, 5.5, 50.0, 50.0, 55.0, 60.0, 25.0}) {
      const std::size_t place = tags.size() % 5;
      const std::string label = place < 2 ? "as it is" : place < 4 ? "slow" : "fast";
      const std::string of = tags.size() < 5 ? "north" : "south";
      records.push_back(record_of(8, seconds));
      records.back().system = by_system ? of : "";
      tags.push_back({label, {}, 1 + static_cast<int>(place % 2), label, "", by_system ? "" : of});
    }
    EXPECT_THAT(figure_csv("lines", make_study({}, records, tags)),
                AllOf(HasSubstr("\nslow; north,8,200,100,300,33,2,"),
                      HasSubstr("\nfast; north,8,-50,,,5.5,1,"),
                      HasSubstr("\nslow; south,8,15,10,20,57.5,2,")));
  }
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

// With these published rows of gpt-80b on 8 devices, once for all repetitions.
Study published_study(const std::string& rows) {
  return read_from("machine,devices,model,batch_s,pflops\n" + rows, [](const std::string& path) {
    Campaign campaign;
    campaign.published = path;
    Question& question = campaign.questions.emplace_back();
    question.platform = "frontier";
    question.devices = 8;
    question.model = made_up_record().point.model;
    return make_study(campaign, {record_of(8, 16), record_of(8, 17)},
                      {{"", {}, 1, ""}, {"", {}, 2, ""}});
  });
}

TEST(Study, CountsPublishedRowsOnceAndNamesThoseThatAreNoPoint) {
  const std::string of_the_point = "frontier,8,gpt-80b,16,\n";
  EXPECT_THAT(study_table(published_study(of_the_point)),
              ::testing::ContainsRegex("\nfrontier +1 +0\\.00 "));
  const Study study = published_study(of_the_point + "frontier,8,gpt-81b,16,\n");
  EXPECT_THAT(study.unmatched, ElementsAre("gpt-81b on 8 devices of frontier"));
  EXPECT_THAT(study_table(study), HasSubstr("no point of this campaign: 1, such as gpt-81b on 8"));
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

const std::string zero = R"({"key": "options.zero", "values": [0, 1, 3]})";
const std::string blocks = R"({"key": "options.in_flight_blocks", "values": [1, 2]})";
const std::string words = R"({"key": "options.recompute", "values": ["full", "none"]})";

// Of sweeps by keys every line has the points of its own label, each once.
TEST(Lines, OfSeveralSweepsHaveTheirOwnPointsAlone) {
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

// --- a study on two points, one of which lacks its seconds

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

// Of one point seconds were published, of the other flop/s: 1e18 model flops at 50 Pflop/s take
// 20 s, as long as its record says.
TEST(Study, ComparesWithPublishedRowsAndWithItsSmallestPoint) {
  const Study study = made_up_study();

  EXPECT_EQ(study.rows[1].published->value, 16.0);
  EXPECT_FALSE(study.rows[1].derived);
  EXPECT_DOUBLE_EQ(*study.rows[1].deviation(), 0.25);
  EXPECT_TRUE(study.rows[0].derived);
  EXPECT_DOUBLE_EQ(study.rows[0].published->value, 20.0);
  EXPECT_DOUBLE_EQ(*study.rows[0].deviation(), 0.0);
  // 1,024 devices give 1e18 / 20 s, so 8,192 would ideally give eight times that.
  EXPECT_DOUBLE_EQ(speedups(study)[1].ideal_rate.value, 8 * 1e18 / 20.0);
  EXPECT_THAT(study_csv(study),
              HasSubstr("\nfrontier,8192,gpt-80b,32000,simulated,2x8x32x16,2,19.5,21.9375,20,"));
}

TEST(Study, TableIsTheRecordedOne) {
  expect_golden("study_table.txt", study_table(made_up_study()));
}

std::string refusal_of_rows(const std::string& text) {
  return refusal<std::runtime_error>([&] { read_from(text, read_published); });
}

// What edits of one entry do not bring about; all others are in tests/golden/refusals.txt.
TEST(Published, RefusesRowsThatSayNothingOrStandTwice) {
  const std::string header = "machine,devices,model,batch_s,pflops\n";

  EXPECT_THAT(refusal_of_rows(header + "alps,6144,gpt-60b,,\n"), HasSubstr("line 2: neither"));
  EXPECT_THAT(refusal_of_rows(header + "alps,6144,gpt-60b\n"), HasSubstr("5 cells"));
  EXPECT_THAT(refusal_of_rows(header), HasSubstr("has no rows"));
  EXPECT_THAT(refusal_of_rows(header + "alps,6144,gpt-60b,5,\nalps,6144,gpt-60b,6,\n"),
              HasSubstr("line 3: gpt-60b on 6144 devices of alps is there twice"));
}

}  // namespace
}  // namespace fourfold::tests
