// Tables (CSV) with one wrong cell or column: what each edit of the first row hears, in a golden
// text.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <charconv>
#include <sstream>

#include "scaling/study/published.hpp"
#include "scaling/validation/residuals.hpp"
#include "scaling/validation/validation_set.hpp"
#include "support/whole_file.hpp"
#include "tests/edits.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold {
namespace {

using edits::Tree;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char letter : line) {
    if (letter == '"') quoted = !quoted;
    if (letter == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += letter;
    }
  }
  return cells;
}

// A cell as a number where it is one.
Tree value_of(const std::string& cell) {
  double value = 0.0;
  const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || read.ptr != cell.data() + cell.size()) return cell;
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value && cell.find('.') == std::string::npos) return whole;
  return value;
}

std::string cell_of(const Tree& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The columns and one row of a table, and the lines above them.
struct OneRow {
  std::string above;
  std::vector<std::string> columns;
  Tree row = Tree::object();
};

OneRow one_row_of(const std::string& path, std::size_t number) {
  OneRow table;
  std::istringstream lines(read_whole_file(source_path(path)));
  std::size_t row = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) {
      table.above += line + "\n";
    } else if (table.columns.empty()) {
      table.columns = cells_of(line);
    } else if (++row == number) {
      const std::vector<std::string> cells = cells_of(line);
      for (std::size_t i = 0; i < cells.size(); ++i)
        table.row[table.columns[i]] = value_of(cells[i]);
      return table;
    }
  }
  return table;
}

std::string text_of(const OneRow& table, const Tree& row) {
  std::vector<std::string> columns, cells;
  for (const std::string& column : table.columns) {
    if (row.contains(column)) columns.push_back(column);
  }
  for (const auto& item : row.items()) {
    if (std::ranges::find(columns, item.key()) == columns.end()) columns.push_back(item.key());
  }
  for (const std::string& column : columns) cells.push_back(cell_of(row[column]));
  return table.above + fmt::format("{}\n{}\n", fmt::join(columns, ","), fmt::join(cells, ","));
}

std::string said_to_row(const std::string& table, std::size_t number,
                        const std::function<void(const std::string& path)>& read) {
  const TemporaryFolder folder;
  const std::string path = folder.file("table.csv");
  const OneRow good = one_row_of(table, number);
  const auto said = [&](const Tree& row) {
    write_whole_file(path, text_of(good, row));
    return edits::heard([&] { read(path); }, path, "TABLE");
  };
  return fmt::format("{}, row {}\n", table, number) + edits::said_to_edits(good.row, said);
}

TEST(EditedTable, OfMeasuredRunsHearsWhatIsWrong) {
  const auto read = [](const std::string& path) {
    const ValidationSet set = read_validation_set(path);
    for (const ValidationCase& one : set.cases) {
      if (!one.left_out.empty()) throw std::runtime_error("left out: " + one.left_out);
    }
  };
  std::string text;
  for (std::size_t row : {1, 40}) {
    text += said_to_row("scaling/validation/sets/known_runs.csv", row, read);
  }
  text += said_to_row("scaling/validation/sets/layers.csv", 1, read);
  text += said_to_row("scaling/validation/sets/sc24_overlap.csv", 1, read);
  expect_golden("edited_runs.txt", text);
}

TEST(EditedTable, OfPublishedResultsAndResidualsHearsWhatIsWrong) {
  expect_golden("edited_results.txt",
                said_to_row("scaling/campaigns/sc24_weak_published.csv", 1,
                            [](const std::string& path) { read_published(path); }) +
                    said_to_row("scaling/validation/residuals.csv", 1,
                                [](const std::string& path) { read_residuals(path); }));
}

}  // namespace
}  // namespace fourfold
