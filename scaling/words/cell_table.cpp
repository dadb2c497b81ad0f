// Reads lines into cells; see cell_table.hpp.
#include "scaling/words/cell_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline words {
namespace {

constexpr const char* remark_mark = "#!";

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// A quoted cell may hold commas, and quotes as two.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  enum class At { begin, plain, quoted, after_quote } at = At::begin;
  for (char letter : line) {
    const bool ends = letter == ',' && at != At::quoted;
    if (ends) {
      cells.emplace_back();
      at = At::begin;
    } else if (letter == ' ' && (at == At::begin || at == At::after_quote)) {
      continue;
    } else if (letter == '"' && at == At::begin) {
      at = At::quoted;
    } else if (letter == '"' && at == At::quoted) {
      at = At::after_quote;
    } else if (letter == '"' && at == At::after_quote) {
      cells.back() += '"';
      at = At::quoted;
    } else if (at == At::after_quote) {
      throw std::runtime_error(
          fmt::format("cell {} goes on after its closing quote", cells.size()));
    } else {
      cells.back() += letter;
      if (at == At::begin) at = At::plain;
    }
  }
  if (at == At::quoted) {
    throw std::runtime_error(fmt::format("the quote of cell {} is not closed", cells.size()));
  }
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

}  // namespace

std::string quoted_cell(const std::string& text) {
  std::string result = "\"";
  for (char letter : text) result += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return result + '"';
}

CellTable::CellTable(const std::string& path) : path_(path) {
  std::istringstream file(read_text_file(path, "the runs in"));
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      if (line.starts_with(remark_mark)) {
        add_remark(line);
      } else if (!line.empty() && line.front() != '#') {
        add_cells(cells_of(line), number);
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{}, line {}: {}", path, number, error.what()));
    }
  }
  if (columns_.empty()) throw std::runtime_error(path + " has no line of columns");
}

void CellTable::add_remark(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) {
    throw std::runtime_error(fmt::format("a remark is '{} key: value'", remark_mark));
  }
  const std::string key = trimmed(line.substr(2, colon - 2));
  if (!remarks_.emplace(key, trimmed(line.substr(colon + 1))).second) {
    throw std::runtime_error("the remark " + key + " is there twice");
  }
}

void CellTable::set_columns(std::vector<std::string> columns) {
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (std::find(columns.begin(), column, *column) != column) {
      throw std::runtime_error("the column '" + *column + "' is there twice");
    }
  }
  columns_ = std::move(columns);
}

void CellTable::add_cells(std::vector<std::string> cells, std::int64_t number) {
  if (columns_.empty()) return set_columns(std::move(cells));
  if (cells.size() != columns_.size()) {
    throw std::runtime_error(
        fmt::format("{} cells, but {} columns", cells.size(), columns_.size()));
  }
  rows_.push_back({number, std::move(cells)});
}

bool CellTable::has(const std::string& column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

std::string CellTable::cell(std::size_t row, const std::string& column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return "";
  return rows_[row].cells[static_cast<std::size_t>(found - columns_.begin())];
}

void CellTable::fail(std::size_t row, const std::string& column, const std::string& what) const {
  throw std::runtime_error(
      fmt::format("{}, line {}, column {}: {}", path_, rows_[row].line, column, what));
}

void CellTable::fail_remark(const std::string& key, const std::string& what) const {
  throw std::runtime_error(fmt::format("{}, remark {}: {}", path_, key, what));
}

}  // namespace fourfold::inline scaling::inline words
