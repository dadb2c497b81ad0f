// A row of a CSV that comes along, as a tree whose entries are its cells: for edits of tables.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <vector>

#include "support/whole_file.hpp"
#include "tests/edits.hpp"
#include "tests/paths.hpp"

namespace fourfold::tests {

using edits::Tree;

inline std::vector<std::string> cells_of(const std::string& line) {
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
inline Tree value_of(const std::string& cell) {
  double value = 0.0;
  const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || read.ptr != cell.data() + cell.size()) return cell;
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value && cell.find('.') == std::string::npos) return whole;
  return value;
}

inline std::string cell_of(const Tree& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The columns and one row of a table, and the lines above them.
struct OneRow {
  std::string above;
  std::vector<std::string> columns;
  Tree row = Tree::object();
};

inline OneRow one_row_of(const std::string& path, std::size_t number) {
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

inline std::string text_of(const OneRow& table, const Tree& row) {
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

}  // namespace fourfold::tests
