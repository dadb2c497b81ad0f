// Validations over drawn cases: their tables, their files beside the cases, and statistics and
// rankings beside what follows from their definitions;
// long because each statistic has its definition here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "scaling/bars/residuals.hpp"
#include "scaling/validation/leave_out.hpp"
#include "scaling/validation/residuals_of.hpp"
#include "scaling/validation/validation_json.hpp"
#include "scaling/validation/validation_text.hpp"
#include "scaling/words/cell_table.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/golden.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/csv_rows.hpp"
#include "tests/scaling/drawn_residuals.hpp"
#include "tests/scaling/said_entries.hpp"
#include "tests/scaling/small_questions.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

CaseResult drawn_case(int number) {
  const Draw draw(number, 9);
  CaseResult result;
  ValidationCase& one = result.one;
  one.id = "row " + std::to_string(number);
  one.study = draw.of<std::string>("study", {"north", "south, \"far\"", "east"});
  one.source = "source of " + one.study;
  if (draw.often("stand-in", 20)) one.stand_in = "it is slower";
  if (draw.often("in sample", 25)) one.in_sample = "chose a constant";
  if (draw.often("unsaid", 25)) one.unsaid = {"later = " + std::to_string(draw.below("later", 3))};
  if (draw.often("layer", 10)) one.measured = Measured::layer;
  Question& question = one.question;
  question.platform = "perlmutter";
  question.model = {"gpt-" + std::to_string(draw.below("name", 9)), 4, 512, 8, 256, 1000};
  question.devices = 8;
  question.global_batch = 16;
  if (!draw.often("searched", 20)) {
    question.grid = draw.of<ProcessGrid>(
        "grid", {ProcessGrid(2, 1, 1, 4), ProcessGrid(1, 1, 2, 4), ProcessGrid(1, 1, 1, 2, 4)});
    question.micro_batches = draw.of<std::int64_t>("micro-batches", {1, 2});
  }
  question.options.recompute = draw.of("recompute", {Recompute::full, Recompute::none});
  question.options.zero = draw.of<std::int64_t>("zero", {0, 1, 3});
  const double scale = one.measured == Measured::layer ? 0.01 : 10.0;
  if (!draw.often("unpublished", 15)) {
    one.published = {scale * one_to_two(draw, "published")};
  }
  if (draw.often("not run", 15)) {
    result.why_not = draw.of<std::string>("why", {"it does not fit", "it is too \"large\""});
    return result;
  }
  Projection projection{question.grid.value_or(ProcessGrid(1, 1, 1, 8)),
                        question.micro_batches.value_or(3),
                        Outcome({{Axis::x, ""}, {Axis::data, ""}}),
                        {1e9 * one_to_two(draw, "memory")},
                        {1.5e9}};
  projection.outcome.total = {scale * one_to_two(draw, "projected")};
  projection.outcome.compute = {0.5 * scale * one_to_two(draw, "compute")};
  projection.outcome.exposed = {{0.1 * scale * one_to_two(draw, "x")},
                                {0.05 * scale * one_to_two(draw, "data")}};
  projection.outcome.bubble = {0.01 * scale * one_to_two(draw, "bubble")};
  result.projection = projection;
  return result;
}

SetResult drawn_set(const std::string& name, int first, int count) {
  SetResult result;
  result.set.name = name;
  result.set.title = "The set " + name;
  for (int i = 0; i < count; ++i) result.cases.push_back(drawn_case(first + i));
  std::ranges::stable_sort(result.cases, {}, [](const CaseResult& one) { return one.one.study; });
  return result;
}

std::vector<SetResult> drawn_sets() {
  std::vector<SetResult> sets{drawn_set("a", 0, 26), drawn_set("b", 100, 12),
                              drawn_set("c", 200, 1)};
  sets[0].set.bound = 0.125;
  sets[0].set.least_cases = 1;
  sets[0].set.in_sample = "rows that chose a constant";
  sets[1].fidelity = Fidelity::simulated;
  return sets;
}

TEST(Validations, AreTheRecordedTables) {
  const std::vector<SetResult> sets = drawn_sets();
  expect_golden("validations.txt", validation_text({sets[0]}));
}

const CaseResult& case_of(const SetResult& set, const std::string& id) {
  return *std::ranges::find(set.cases, id, [](const CaseResult& one) { return one.one.id; });
}

// JSON and CSV say each case's numbers by its id.
TEST(Validations, HaveFilesThatSayEachCase) {
  const std::vector<SetResult> sets = drawn_sets();
  const nlohmann::json json =
      nlohmann::json::parse(validation_json(sets, leave_out(drawn_residuals(9))));
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const nlohmann::json& said = json["sets"][s];
    expect_says(said, {{"name", sets[s].set.name},
                       {"title", sets[s].set.title},
                       {"fidelity", name(sets[s].fidelity)},
                       {"least_cases", sets[s].set.least_cases},
                       {"in_sample", sets[s].set.in_sample}});
    ASSERT_EQ(said["cases"].size(), sets[s].cases.size());
    for (const nlohmann::json& row : said["cases"]) {
      const CaseResult& result = case_of(sets[s], row["id"]);
      const ValidationCase& one = result.one;
      SCOPED_TRACE(one.id);
      expect_says(row, {{"study", one.study},
                        {"source", one.source},
                        {"stand_in", one.stand_in},
                        {"in_sample", one.in_sample},
                        {"platform", one.question.platform},
                        {"devices", one.question.devices}});
      if (one.is_published()) {
        EXPECT_EQ(row["published_s"], one.published.value);
      }
      ASSERT_EQ(row.value("projected_s", nlohmann::json()).is_number(),
                result.projection.has_value());
      if (!result.projection) continue;
      const Projection& found = *result.projection;
      expect_says(row, {{"projected_s", found.outcome.total.value},
                        {"compute_s", found.outcome.compute.value},
                        {"bubble_s", found.outcome.bubble.value},
                        {"grid", found.grid.str()},
                        {"micro_batches", found.micro_batches},
                        {"memory_B", found.memory.value},
                        {"memory_limit_B", found.memory_limit.value},
                        {"projected_without", one.unsaid}});
      EXPECT_DOUBLE_EQ(row["exposed_s"].get<double>(), found.outcome.exposed_total().value);
      if (one.is_published()) {
        EXPECT_NEAR(row["deviation"].get<double>(),
                    found.outcome.total.value / one.published.value - 1.0, 1e-12);
      }
    }
    for (const nlohmann::json& row : said["statistics"]) {
      const SampleSide sample = row["sample"] == "out" ? SampleSide::out : SampleSide::in;
      const Deviations found =
          deviations_of_cases(sets[s], cases_that_ran(sets[s], row["study"], sample));
      EXPECT_EQ(row["run"], found.count);
      if (found.count == 0) continue;
      expect_says(row, {{"bias", found.bias},
                        {"mean_absolute", found.mean_absolute},
                        {"median_absolute", found.median},
                        {"ninetieth_absolute", found.ninetieth},
                        {"worst", case_of(sets[s], row["worst_id"]).deviation()}});
    }
  }
  const std::vector<CsvRow> rows = csv_rows(validation_csv(sets));
  EXPECT_EQ(rows.size(), 39U);
  for (const CsvRow& row : rows) {
    const auto set =
        std::ranges::find(sets, row.text("set"), [](const SetResult& one) { return one.set.name; });
    ASSERT_NE(set, sets.end()) << row.text("set");
    const CaseResult& one = case_of(*set, row.text("id"));
    EXPECT_NEAR(row.number("published_s"), one.one.published.value,
                1e-6 * one.one.published.value + 1e-9);
    if (!one.projection) continue;
    const double seconds = one.projection->outcome.total.value;
    EXPECT_NEAR(row.number("projected_s"), seconds, 1e-6 * seconds);
  }
}

TEST(Validations, AreComparedWithEarlierOnesAsTheGoldenTextSays) {
  const std::vector<SetResult> before = drawn_sets();
  const EarlierValidation earlier = read_from(validation_json(before, {}), read_validation_json);
  std::vector<SetResult> now = before;
  EXPECT_NE(changes_text(earlier, {now[1]}).find("no row moved"), std::string::npos);
  for (std::size_t i = 0; i < now[0].cases.size(); ++i) {
    CaseResult& one = now[0].cases[i];
    if (!one.projection) {
      if (i % 2 == 0) one.projection = Projection{ProcessGrid(), 1, {}, {}, {}};
      if (one.projection) one.projection->outcome.total = {3.0};
    } else if (i % 5 > 2) {
      if (i % 7 == 3) one.projection.reset();
    } else {
      const double more = i % 5 == 0 ? 0.01 * (i % 3) : i % 5 == 1 ? 0.9e-4 : -1.1e-4;
      one.projection->outcome.total *= 1.0 + more;
    }
  }
  now[0].cases.erase(now[0].cases.begin() + 4);
  now[1].cases[2].one.id = "another row";
  now[2].set.name = "d";
  expect_golden("validation_changes.txt", changes_text(earlier, now));
  now = before;
  CaseResult& one = now[1].cases[0];
  one.projection.value().memory *= 1.01;
  EXPECT_EQ(changes_text(earlier, {now[1]}).find(" GB"), std::string::npos);
  one.one.memory = MeasuredMemory{.peak = {1e9}};
  EXPECT_NE(changes_text(earlier, {now[1]}).find(" GB"), std::string::npos);
  EXPECT_THROW(refuse_other_fidelity(earlier, "b", Fidelity::estimated), std::runtime_error);
}

// By hand, of all cases of a sample.
TEST(Validations, CountWhatRanAndWasPublished) {
  for (const SetResult& set : drawn_sets()) {
    std::set<std::size_t> all;
    for (const SampleSide sample : {SampleSide::in, SampleSide::out}) {
      std::size_t of_studies = 0;
      for (const std::string& study : studies(set)) {
        of_studies += cases_that_ran(set, study, sample).size();
      }
      const std::vector<std::size_t> cases = cases_that_ran(set, "", sample);
      EXPECT_EQ(of_studies, cases.size());
      double sum = 0.0, absolute = 0.0, worst = 0.0;
      for (std::size_t i : cases) {
        EXPECT_TRUE(all.insert(i).second);
        const double deviation =
            set.cases[i].projection->outcome.total.value / set.cases[i].one.published.value - 1.0;
        sum += deviation;
        absolute += std::abs(deviation);
        worst = std::max(worst, std::abs(deviation));
      }
      const Deviations found = deviations_of_cases(set, cases);
      EXPECT_EQ(found.count, cases.size());
      if (cases.empty()) continue;
      EXPECT_NEAR(found.bias, sum / static_cast<double>(cases.size()), 1e-12);
      EXPECT_NEAR(found.mean_absolute, absolute / static_cast<double>(cases.size()), 1e-12);
      EXPECT_EQ(std::abs(set.cases[found.worst].deviation()), worst);
    }
    const auto ran = std::ranges::count_if(set.cases, [](const CaseResult& one) {
      return one.projection && one.one.published.value > 0.0;
    });
    EXPECT_EQ(std::ssize(all), ran);
  }
}

// Of two layers and two micro-batches, one and two, two and one, and one and one: with signs + - -
// +.
TEST(Layers, AreWhatOneMoreAddsToOneMicroBatchMoreInEachPart) {
  ValidationCase one;
  one.id = one.study = one.source = "layer";
  one.measured = Measured::layer;
  one.published = {1.0};
  Question& question = one.question;
  question.platform = path_of_machine("torus");
  question.model = {"small", 7, 512, 8, 256, 1000};
  question.devices = 8;
  question.global_batch = 24;
  question.grid = ProcessGrid(2, 1, 2, 2);
  question.micro_batches = 3;
  ValidationSet set;
  set.cases = {one};
  const Projection found = *run_validation(set, Fidelity::estimated, ignore).cases[0].projection;
  const auto parts = [](const Outcome& outcome) {
    std::vector<Seconds> all{outcome.total, outcome.compute};
    all.insert(all.end(), outcome.exposed.begin(), outcome.exposed.end());
    return all;
  };
  std::vector<Seconds> expected(parts(found.outcome).size());
  for (const std::int64_t layers : {1, 2}) {
    for (const std::int64_t micro_batches : {1, 2}) {
      Question part = question;
      part.model.layers = layers;
      part.global_batch = 8 * micro_batches;
      const std::vector<Seconds> here = parts(
          estimate_step(point_of(part, *part.grid, micro_batches), read_platform(part.platform))
              .outcome);
      ASSERT_EQ(here.size(), expected.size());
      for (std::size_t i = 0; i < here.size(); ++i) {
        expected[i] += here[i] * (layers == micro_batches ? 1.0 : -1.0);
      }
    }
  }
  double exposed = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(parts(found.outcome)[i].value, expected[i].value, 1e-12) << i;
    if (i > 1) exposed += std::abs(expected[i].value);
  }
  EXPECT_GT(exposed, 1e-6);
}

// One after the other, and how much of all is done before each.
TEST(Runs, OfASetAreToldOneByOne) {
  ValidationSet set;
  set.name = "mine";
  for (const char* id : {"a", "b", "c", "d"}) {
    ValidationCase& one = set.cases.emplace_back();
    one.id = one.study = id;
    one.left_out = std::string("not ") + id;
  }
  std::vector<std::pair<std::string, double>> told;
  const SetResult result =
      run_validation(set, Fidelity::estimated,
                     [&](const std::string& id, double done) { told.emplace_back(id, done); });
  EXPECT_EQ(told, (std::vector<std::pair<std::string, double>>{
                      {"a", 0.0}, {"b", 0.25}, {"c", 0.5}, {"d", 0.75}}));
  EXPECT_EQ(result.set.name, "mine");
  ASSERT_EQ(result.cases.size(), 4u);
  EXPECT_EQ(result.cases[3].why_not, "not d");
  EXPECT_EQ(studies(result), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(Bounds, AreOfTheEstimateAndOfTheFewestCases) {
  SetResult set = drawn_sets()[0];
  const std::vector<std::size_t> cases = cases_that_ran(set, "", SampleSide::out);
  const double mean = deviations_of_cases(set, cases).mean_absolute;
  set.set.bound = mean;
  set.set.least_cases = std::ssize(cases);
  EXPECT_EQ(worse_than_bound(set), "");
  set.set.bound = mean * (1.0 - 1e-9);
  EXPECT_NE(worse_than_bound(set).find("is above the bound of"), std::string::npos);
  set.fidelity = Fidelity::simulated;
  EXPECT_EQ(worse_than_bound(set), "");
  set.fidelity = Fidelity::estimated;
  ++set.set.least_cases;
  EXPECT_NE(worse_than_bound(set).find("but at least"), std::string::npos);
  set.set.bound.reset();
  EXPECT_NE(worse_than_bound(set).find("but at least"), std::string::npos);
  set.set.least_cases = 0;
  EXPECT_EQ(worse_than_bound(set), "");
}

// Of configurations of one model, devices and batch: Kendall's tau, regret and gains by their
// definitions, whatever the order of the rows.
TEST(Rankings, FollowFromTheirDefinitions) {
  for (int number = 0; number < 20; ++number) {
    const Draw draw(number, 11);
    SetResult set;
    std::vector<double> published, projected;
    const int count = 3 + number % 4;
    for (int i = 0; i < count; ++i) {
      const std::string of = std::to_string(i);
      CaseResult one = drawn_case(1);
      one.one.id = of;
      one.one.question.grid = ProcessGrid(1, 1, 1, 8);
      one.one.question.micro_batches = 1 << i;
      one.one.published = {one_to_two(draw, "published" + of)};
      Projection projection;
      projection.outcome.total = {one_to_two(draw, "projected" + of)};
      one.projection = projection;
      published.push_back(one.one.published.value);
      projected.push_back(projection.outcome.total.value);
      set.cases.push_back(one);
      if (i != 1) continue;
      // Twice measured: the mean counts.
      one.one.published = {published.back() * 1.1};
      one.one.id = "again";
      published.back() *= 1.05;
      set.cases.push_back(one);
    }
    double order = 0.0;
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < i; ++j) {
        const double both = (published[i] - published[j]) * (projected[i] - projected[j]);
        order += both > 0.0 ? 1.0 : both < 0.0 ? -1.0 : 0.0;
      }
    }
    const auto first =
        static_cast<std::size_t>(std::ranges::min_element(projected) - projected.begin());
    std::vector<std::size_t> slowest(published.size());
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = i;
    std::ranges::sort(slowest, std::greater<>{}, [&](std::size_t i) { return published[i]; });
    double gains = 0.0;
    for (std::size_t i = 1; i < slowest.size(); ++i) {
      const std::size_t a = slowest[i - 1], b = slowest[i];
      gains = std::max(gains, std::abs(published[b] / published[a] - projected[b] / projected[a]));
    }
    const std::vector<Ranking> found = rankings(set);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].configurations, static_cast<std::size_t>(count));
    EXPECT_EQ(found[0].ids.size(), static_cast<std::size_t>(count + 1));
    EXPECT_NEAR(found[0].tau, order / (0.5 * count * (count - 1)), 1e-12);
    EXPECT_NEAR(found[0].regret, published[first] / *std::ranges::min_element(published) - 1.0,
                1e-12);
    EXPECT_NEAR(found[0].gain_difference, gains, 1e-12);
  }
}

TEST(Residuals, OfSetsAreOfStepsOutOfSample) {
  const std::vector<SetResult> sets = drawn_sets();
  const std::vector<Residual> residuals = residuals_of(sets);
  std::size_t expected = 0;
  for (const SetResult& set : sets) {
    for (const CaseResult& one : set.cases) {
      const bool counts = one.projection && one.one.is_published() && one.one.in_sample.empty() &&
                          one.one.measured == Measured::step;
      if (!counts) continue;
      ++expected;
      const auto found = std::ranges::find(residuals, one.one.id, &Residual::id);
      ASSERT_NE(found, residuals.end());
      EXPECT_EQ(found->source, one.one.study);
      EXPECT_DOUBLE_EQ(found->ratio, one.one.published.value / one.projection->outcome.total.value);
      if (!one.one.question.grid) {
        EXPECT_EQ(found->choice, one.one.id);
        EXPECT_EQ(found->configuration, one.one.id);
      }
    }
  }
  EXPECT_EQ(residuals.size(), expected);
  for (const Residual& a : residuals) {
    for (const Residual& b : residuals) {
      EXPECT_TRUE(a.configuration != b.configuration || a.choice == b.choice) << a.id << b.id;
      EXPECT_TRUE(a.choice != b.choice || a.source == b.source) << a.id << b.id;
    }
  }
  const std::vector<Residual> read = read_from(residuals_csv(residuals), read_residuals);
  EXPECT_EQ(residuals_csv(read), residuals_csv(residuals));
  ASSERT_EQ(read.size(), residuals.size());
  EXPECT_EQ(read[0].like, residuals[0].like);
}

TEST(Cells, OfATableAreReadAsTheyAreQuoted) {
  const auto text_of = [](const std::string& path) {
    const CellTable table(path);
    std::string text;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      for (const std::string& column : table.columns()) text += "[" + table.cell(row, column) + "]";
    }
    for (const auto& [key, value] : table.remarks()) text += "{" + key + "=" + value + "}";
    return text;
  };
  for (const auto& [content, cells] : std::vector<std::pair<const char*, const char*>>{
           {"a,b\n 1 , 2\t\n", "[1][2]"},
           {"a,b\r\n1,2\r\n\r\n", "[1][2]"},
           {"a,b\n\"x, y\" , \"\"\"q\"\"\"\n", "[x, y][\"q\"]"},
           {"a,b\n,\n", "[][]"},
           {"a,b\n5\" disk,x\"y\n", "[5\" disk][x\"y]"},
           {"#! k : v : w \n# no remark\na\n", "{k=v : w}"}}) {
    EXPECT_EQ(read_from(content, text_of), cells);
  }
  for (const auto& [content, why] : std::vector<std::pair<const char*, const char*>>{
           {"#! k\na\n", ", line 1: a remark is '#! key: value'"},
           {"#! k: 1\n#! k: 2\na\n", ", line 2: the remark k is there twice"},
           {"a,b,a\n", ", line 1: the column 'a' is there twice"},
           {"a,b\n\n1\n", ", line 3: 1 cells, but 2 columns"},
           {"a,b\n1,\"2\n", ", line 2: the quote of cell 2 is not closed"},
           {"a,b\n\"1\"x,2\n", ", line 2: cell 1 goes on after its closing quote"},
           {"# nothing\n", " has no line of columns"}}) {
    const std::string said =
        refusal<std::runtime_error>([&] { read_from(content, text_of, "t.csv"); });
    EXPECT_TRUE(said.ends_with(std::string("t.csv") + why)) << said;
  }
}

}  // namespace
}  // namespace fourfold::tests
