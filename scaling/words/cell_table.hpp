// A CSV as people write it: lines of remarks, a line of columns, rows with quoted cells. What is
// wrong with it is told by line and column.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline words {

// A cell of any text, as such a table is written.
std::string quoted_cell(const std::string& text);

// Remarks are lines "#! key: value"; other lines that start with # are for readers only.
class CellTable {
 public:
  // Throws std::runtime_error: unreadable, no columns, a column twice, a row of another length.
  explicit CellTable(const std::string& path);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t rows() const { return rows_.size(); }
  bool has(const std::string& column) const;
  // Empty where there is no such column.
  std::string cell(std::size_t row, const std::string& column) const;

  const std::map<std::string, std::string>& remarks() const { return remarks_; }

  // Throws std::runtime_error: "runs.csv, line 7, column tp: ...", "runs.csv, remark bound: ...".
  [[noreturn]] void fail(std::size_t row, const std::string& column, const std::string& what) const;
  [[noreturn]] void fail_remark(const std::string& key, const std::string& what) const;

 private:
  void add_remark(const std::string& line);
  // The first cells are the columns' names.
  void add_cells(std::vector<std::string> cells, std::int64_t number);
  void set_columns(std::vector<std::string> columns);

  struct Row {
    std::int64_t line = 0;
    std::vector<std::string> cells;
  };
  std::string path_;
  std::map<std::string, std::string> remarks_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace fourfold::inline scaling::inline words
