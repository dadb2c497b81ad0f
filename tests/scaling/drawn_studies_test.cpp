// Every table, figure, report and record of studies that are drawn over all that a row may hold.
#include "tests/scaling/drawn_studies.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "scaling/study/campaign_run.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/measured_table.hpp"
#include "scaling/study/record_json.hpp"
#include "scaling/study/report.hpp"
#include "scaling/study/study_table.hpp"
#include "scaling/study/system_table.hpp"
#include "scaling/study/time_parts.hpp"
#include "tests/golden.hpp"

namespace fourfold {
namespace {

using testing::Drawn;
using testing::drawn_study;

constexpr std::int64_t studies_of_a_kind = 4;
constexpr std::array projected_kinds{Drawn::plain, Drawn::swept, Drawn::systems, Drawn::ranked};

// The texts of some drawn studies of these kinds, one below the other.
template <typename Kinds>
std::string texts(const Kinds& kinds, const std::function<std::string(const Study&)>& text_of_one,
                  std::int64_t of_a_kind = studies_of_a_kind) {
  std::string text;
  for (const Drawn kind : kinds) {
    for (std::int64_t number = 0; number < of_a_kind; ++number) {
      text += fmt::format("==== {}.{}\n{}", static_cast<int>(kind), number,
                          text_of_one(drawn_study(number, kind)));
    }
  }
  return text;
}

TEST(DrawnStudies, HaveTheirTables) {
  expect_golden("drawn_study_tables.txt", texts(projected_kinds, [](const Study& study) {
                  return study_table(study, Width::whole);
                }));
}

TEST(DrawnStudies, HaveTheirCsv) {
  expect_golden("drawn_study_csv.txt", texts(projected_kinds, study_csv));
}

TEST(DrawnStudies, HaveTheirFigures) {
  expect_golden("drawn_figures.txt", texts(projected_kinds, [](const Study& study) {
                  std::string text = unit_text(study) + "\n" + reference_text(study) + "\n";
                  for (const FigureKind& kind : figure_kinds()) {
                    text += std::string(kind.name) + ":\n" + figure_csv(kind.name, study);
                  }
                  return text;
                }));
}

TEST(DrawnStudies, HaveTheirTablesOfChangesRunsAndRanks) {
  expect_golden("drawn_sweep_tables.txt", texts(projected_kinds, [](const Study& study) {
                  return sweep_table(study) + run_table(study) + ranks_text(study);
                }));
}

TEST(DrawnStudies, ThatAreMeasuredHaveTheirTablesAndFigures) {
  expect_golden("drawn_measured.txt", texts(std::array{Drawn::measured}, [](const Study& study) {
                  const Study whole = with_twins(study);
                  return measured_text(study, Width::whole) + figure_csv("strong", whole) +
                         study_csv(whole);
                }));
}

TEST(DrawnStudies, HaveTheirReports) {
  expect_golden("drawn_reports.txt",
                texts(
                    projected_kinds,
                    [](const Study& study) {
                      const std::string html = report_html(
                          study, {"title = \"<b>\"", {}, {"a & b: failed"}, "as printed", {}});
                      const std::size_t begin = html.find("<h1>"), end = html.find("<script>");
                      return html.substr(begin, end - begin) + "\n";
                    },
                    2));
}

TEST(DrawnStudies, HaveRecordsThatAreReadAsTheyWereWritten) {
  std::string text;
  for (const Drawn kind : {Drawn::plain, Drawn::systems, Drawn::ranked, Drawn::measured}) {
    for (const StudyRow& row : drawn_study(1, kind).rows) {
      const std::string line = to_json(row.record);
      const Record read = record_from_json(line);
      EXPECT_EQ(to_json(read), line);
      EXPECT_EQ(read.fidelity, row.record.fidelity);
      EXPECT_EQ(read.seconds(), row.record.seconds());
      EXPECT_EQ(read.set_by, row.record.set_by);
      EXPECT_EQ(read.simulated.size(), row.record.simulated.size());
      EXPECT_EQ(read.bar, row.record.bar);
      text += line + "\n";
    }
  }
  expect_golden("drawn_records.txt", text);
}

TEST(DrawnStudies, HaveTimesWhosePartsAddUp) {
  for (const Drawn kind : projected_kinds) {
    for (const StudyRow& row : drawn_study(3, kind).rows) {
      double sum = 0.0;
      for (const TimePart& part : time_parts(row.record.outcome)) sum += part.seconds.value;
      EXPECT_NEAR(sum, row.record.seconds().value, 1e-9 * sum);
    }
  }
}

}  // namespace
}  // namespace fourfold
