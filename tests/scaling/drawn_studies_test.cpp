// Tables, figures, reports and records of studies that are drawn over all that a row may hold say
// the numbers of their records, each in its place.
#include "tests/scaling/drawn_studies.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>

#include "scaling/records/record_json.hpp"
#include "scaling/records/time_parts.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/measured_table.hpp"
#include "scaling/study/report.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/sweep_lines.hpp"
#include "scaling/study/system_table.hpp"
#include "tests/scaling/csv_rows.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t studies_of_a_kind = 4;
constexpr std::array projected_kinds{Drawn::plain, Drawn::swept, Drawn::systems, Drawn::ranked};

void for_each_study(const std::function<void(const Study&)>& look_at) {
  for (const Drawn kind : projected_kinds) {
    for (std::int64_t number = 0; number < studies_of_a_kind; ++number) {
      SCOPED_TRACE(fmt::format("study {} of kind {}", number, static_cast<int>(kind)));
      look_at(drawn_study(number, kind));
    }
  }
}

#define EXPECT_IS(row, column, expected) \
  EXPECT_NEAR((row).number(column), (expected), 1e-7 * std::abs(expected) + 1e-12) << (column)

// Nine digits of each number, in the row of its point.
TEST(DrawnStudies, HaveCsvThatSaysTheirRecords) {
  for_each_study([](const Study& study) {
    const std::vector<CsvRow> rows = csv_rows(study_csv(study));
    ASSERT_EQ(rows.size(), study.rows.size());
    std::map<std::string, double> ideal;  // of a device of each curve
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CsvRow& row = rows[i];
      const StudyRow& one = study.rows[i];
      const Record& record = one.record;
      const double seconds = record.seconds().value;
      const auto devices = static_cast<double>(record.devices());
      EXPECT_EQ(row.text("machine"), one.machine);
      EXPECT_EQ(row.text("model"), record.point.model.name);
      EXPECT_TRUE(row.text("system").starts_with(record.system)) << row.text("system");
      EXPECT_EQ(row.text("fidelity"), name(record.fidelity));
      EXPECT_EQ(row.text("given"), one.given ? "1" : "0");
      EXPECT_IS(row, "devices", devices);
      EXPECT_IS(row, "repetition", static_cast<double>(one.repetition));
      EXPECT_IS(row, "value", one.value.value_or(0.0));
      EXPECT_IS(row, "batch_s", seconds);
      EXPECT_IS(row, "estimated_s", record.estimated.value);
      EXPECT_IS(row, "model_flop", record.model_flops.value);
      EXPECT_IS(row, "flop_per_s", record.model_flops.value / seconds);
      EXPECT_THAT(row.text("series"), ::testing::HasSubstr(record.system));
      const double of_device = row.number("ideal_flop_per_s") / devices;
      EXPECT_NEAR(of_device / ideal.try_emplace(row.text("series"), of_device).first->second, 1,
                  1e-6);
      EXPECT_IS(row, "of_advertised_peak",
                record.model_flops.value / seconds / devices / record.advertised_peak.value);
      EXPECT_IS(row, "of_empirical_peak",
                record.model_flops.value / seconds / devices / record.empirical_peak.value);
      EXPECT_IS(row, "memory_B", record.memory.value);
      EXPECT_IS(row, "memory_limit_B", record.memory_limit.value);
      EXPECT_IS(row, "compute_s", record.outcome.compute.value);
      EXPECT_IS(row, "exposed_x_s", record.outcome.exposed[0].value);
      EXPECT_IS(row, "exposed_z_s",
                record.outcome.exposed[2].value + record.outcome.exposed[3].value);
      double sum = 0.0;
      for (const char* part : {"compute_s", "exposed_x_s", "exposed_y_s", "exposed_z_s",
                               "exposed_data_s", "exposed_pipe_s", "bubble_s", "other_s"}) {
        sum += row.number(part);
      }
      EXPECT_NEAR(sum / seconds, 1.0, 1e-7);
      const double tokens = row.number("batch_tokens");
      EXPECT_IS(row, "batch_sequences", static_cast<double>(record.point.global_batch));
      EXPECT_EQ(tokens,
                static_cast<double>(record.point.global_batch * record.point.model.sequence));
      EXPECT_IS(row, "tokens_per_s", tokens / seconds);
      EXPECT_IS(row, "tokens_per_s_per_device", tokens / seconds / devices);
      EXPECT_IS(row, "days_per_trillion_tokens", 1e12 / (tokens / seconds) / 86'400.0);
      EXPECT_IS(row, "device_hours_per_trillion_tokens",
                1e12 / (tokens / seconds) / 3'600.0 * devices);
      EXPECT_IS(row, "published_batch_s", one.published.value_or(Seconds{}).value);
      if (one.published) {
        EXPECT_IS(row, "deviation", seconds / one.published->value - 1.0);
      }
      EXPECT_EQ(row.has("bar_low_s"), record.bar.has_value());
      if (!record.bar) continue;
      EXPECT_IS(row, "bar_low_s", seconds * (1.0 + record.bar->low));
      EXPECT_IS(row, "bar_high_s", seconds * (1.0 + record.bar->high));
      EXPECT_IS(row, "bar_runs", static_cast<double>(record.bar->runs));
      EXPECT_EQ(row.text("bar_like"), record.bar->like);
    }
  });
}

std::string grid_cell(const Record& record) {
  std::string grid = record.point.grid.str();
  std::ranges::replace(grid, ',', ';');
  return grid;
}

const StudyRow* row_of(const Study& study, const CsvRow& row, double seconds) {
  for (const StudyRow& one : study.rows) {
    const bool same = grid_cell(one.record) == row.text("grid") &&
                      std::abs(one.record.seconds().value / seconds - 1.0) < 1e-7;
    if (same) return &one;
  }
  return nullptr;
}

// Bars of time are those of a record and their parts add up to it; a line of speed-ups begins at
// one and has the efficiency of its speed-up.
TEST(DrawnStudies, HaveFiguresThatSayTheirRecords) {
  std::size_t bars = 0, points = 0, ranked = 0;
  for_each_study([&](const Study& study) {
    for (const char* figure : {"time", "systems"}) {
      for (const CsvRow& row : csv_rows(figure_csv(figure, study))) {
        double seconds = 0.0;
        for (const char* part : {"compute_s", "exposed_x_s", "exposed_y_s", "exposed_z_s",
                                 "exposed_data_s", "exposed_pipe_s", "bubble_s", "other_s"}) {
          seconds += row.number(part);
        }
        const StudyRow* one = row_of(study, row, seconds);
        ASSERT_NE(one, nullptr) << figure << " " << row.text("grid");
        EXPECT_IS(row, "compute_s", one->record.outcome.compute.value);
        EXPECT_IS(row, "published_batch_s", one->published.value_or(Seconds{}).value);
        ++bars;
      }
    }
    // Rows of several machines and repetitions are another line each; here, of growing jobs.
    std::map<std::string, CsvRow> first;
    std::vector<CsvRow> line = csv_rows(figure_csv("strong", study));
    if (!std::ranges::is_sorted(line, std::less_equal<>{},
                                [](const CsvRow& row) { return row.number("devices"); }) ||
        study.rows.front().record.point.platform != "hill") {
      line.clear();
    }
    for (const CsvRow& row : line) {
      const CsvRow& begin = first.try_emplace(row.text("series"), row).first->second;
      const double more = row.number("devices") / begin.number("devices");
      EXPECT_IS(row, "ideal", row.number("time") * row.number("efficiency"));
      EXPECT_IS(row, "speedup", row.number("efficiency") * more);
      ++points;
    }
    std::map<std::string, double> before;
    for (const CsvRow& row : csv_rows(figure_csv("ranks", study))) {
      if (row.number("rank") > 1) {
        EXPECT_GE(row.number("estimated_s"), before[row.text("series")]) << "by estimate";
      }
      before[row.text("series")] = row.number("estimated_s");
      EXPECT_GT(row.number("simulated_s"), 0.0);
      ++ranked;
    }
    for (const CsvRow& row : csv_rows(figure_csv("machines", study))) {
      EXPECT_GT(row.number("value"), 0.0);
      if (!row.has("low")) continue;
      EXPECT_LT(row.number("low"), row.number("value"));
      EXPECT_GT(row.number("high"), row.number("value"));
    }
    EXPECT_FALSE(unit_text(study).empty());
    EXPECT_FALSE(reference_text(study).empty());
  });
  EXPECT_GT(bars, 80U);
  EXPECT_GT(points, 10U);
  EXPECT_GT(ranked, 30U);
}

std::size_t lines_with(const std::string& text, const std::string& what) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(what) != std::string::npos;
  return count;
}

void expect_sound_text(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.ends_with(' ')) << "'" << line << "'";
    EXPECT_EQ(line.find(" nan"), std::string::npos) << line;
    EXPECT_EQ(line.find(" inf"), std::string::npos) << line;
  }
}

// Every row's seconds stand in the table, and what is marked is explained below.
// How much longer than the fastest the paper's first takes.
void expect_ranks_said(const Study& study) {
  std::string said = ranks_text(study);
  std::ranges::replace(said, '\n', ' ');
  for (const StudyRow& row : study.rows) {
    double best = HUGE_VAL, paper = 0.0;
    for (const GridSeconds& one : row.record.simulated) {
      best = std::min(best, one.simulated->value);
      const GridSeconds& choice = row.record.paper_choice;
      const bool is_it = one.grid == choice.grid && one.micro_batches == choice.micro_batches;
      if (is_it) paper = one.simulated->value;
    }
    if (said.empty() || paper == 0.0) continue;
    const double longer = 100.0 * (paper / best - 1.0);
    EXPECT_THAT(said, testing::HasSubstr(fmt::format("model's first {:.1f} %.", longer)));
  }
}

TEST(DrawnStudies, HaveTablesWithARowForEachRecord) {
  for_each_study([](const Study& study) {
    const std::string table = study_table(study, Width::whole);
    expect_sound_text(table);
    for (const StudyRow& row : study.rows) {
      const double seconds = row.record.seconds().value;
      EXPECT_GE(lines_with(table, fmt::format("{:.2f}", seconds)) +
                    lines_with(table, fmt::format("{:.1f}", seconds)),
                1U)
          << seconds << " in\n"
          << table;
      const StepOptions& options = row.record.point.options;
      if (!row.record.system.empty() && row.record.point.grid.extent(Axis::pipe) > 1) {
        const std::string chunks = options.chunks > 1 ? fmt::format(" v={}", options.chunks) : "";
        EXPECT_GE(lines_with(table, name(options.order) + chunks + ","), 1U) << table;
      }
    }
    bool derived = false, capped = false;
    for (const StudyRow& row : study.rows) {
      derived = derived || row.derived;
      capped = capped || row.record.verdict == "capped";
    }
    if (study.rows.front().record.system.empty()) {  // a table of systems has no such marks
      EXPECT_EQ(lines_with(table, "* derived from the published flop/s"), derived ? 1U : 0U);
      EXPECT_EQ(lines_with(table, "^ the limit on simulated grids"), capped ? 1U : 0U);
    }
    expect_sound_text(sweep_table(study) + run_table(study) + ranks_text(study));
    expect_ranks_said(study);
  });
}

// The parts of a record's seconds, each by its name: no second is in two of them.
TEST(DrawnStudies, HaveSecondsThatAreInOnePartEach) {
  for_each_study([](const Study& study) {
    for (const StudyRow& row : study.rows) {
      const Outcome& outcome = row.record.outcome;
      std::map<std::string, double> parts;
      double sum = 0.0;
      for (const TimePart& part : time_parts(outcome)) {
        parts[part.name] = part.seconds.value;
        sum += part.seconds.value;
      }
      EXPECT_NEAR(sum, outcome.total.value, 1e-9 * outcome.total.value);
      EXPECT_EQ(parts.at("compute"), outcome.compute.value);
      EXPECT_EQ(parts.at("bubble"), outcome.bubble.value);
      EXPECT_NEAR(parts.at("messages") + parts.at("bubble"),
                  outcome.exposed_along(Axis::pipe).value, 1e-12);
    }
  });
}

TEST(DrawnStudies, ThatAreMeasuredHaveARowForEachRun) {
  for (std::int64_t number = 0; number < studies_of_a_kind; ++number) {
    const Study study = drawn_study(number, Drawn::measured);
    const std::string text = measured_text(study, Width::whole);
    expect_sound_text(text);
    EXPECT_EQ(csv_rows(study_csv(study)).size(), study.rows.size());
    const Study whole = with_twins(study);
    EXPECT_GT(whole.rows.size(), study.rows.size());
    EXPECT_FALSE(csv_rows(figure_csv("strong", whole)).empty());
  }
}

}  // namespace
}  // namespace fourfold::tests
