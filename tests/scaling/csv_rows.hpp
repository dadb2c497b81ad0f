// Rows of a CSV by the names of their columns, for tests that look at what was written.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace fourfold::tests {

inline std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char letter : line) {
    if (letter == '"') {
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += letter;
    }
  }
  return cells;
}

class CsvRow {
 public:
  CsvRow(const std::vector<std::string>& columns, const std::vector<std::string>& cells) {
    EXPECT_EQ(columns.size(), cells.size());
    for (std::size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
      cells_[columns[i]] = cells[i];
    }
  }
  std::string text(const std::string& column) const {
    EXPECT_TRUE(cells_.contains(column)) << column;
    return cells_.contains(column) ? cells_.at(column) : "";
  }
  // 0 where the cell is empty.
  double number(const std::string& column) const {
    return std::strtod(text(column).c_str(), nullptr);
  }
  bool has(const std::string& column) const { return !text(column).empty(); }

 private:
  std::map<std::string, std::string> cells_;
};

inline std::vector<CsvRow> csv_rows(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> columns = csv_cells(line);
  std::vector<CsvRow> rows;
  while (std::getline(lines, line)) rows.emplace_back(columns, csv_cells(line));
  return rows;
}

}  // namespace fourfold::tests
