// Alignment of cells; see text_table.hpp.
#include "scaling/text/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace fourfold {
namespace {

constexpr std::size_t gap = 2;

std::string line_of(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(gap, ' ');
    const std::string padding(widths[i] - cells[i].size(), ' ');
    line += columns[i].align == Align::left ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

bool says_nothing(const TextTable& table, std::size_t column) {
  return std::ranges::all_of(table.rows, [&](const std::vector<std::string>& row) {
    return row.empty() || row[column].find_first_not_of("- ") == std::string::npos;
  });
}

// A header that goes on in its second line is one word.
std::string name_of(const Column& column) {
  return column.header.ends_with("-") ? column.header + column.unit : column.header;
}

TextTable without(TextTable table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  table.columns.erase(table.columns.begin() + at);
  for (std::vector<std::string>& row : table.rows) {
    if (!row.empty()) row.erase(row.begin() + at);
  }
  return table;
}

std::size_t width_of(const TextTable& table) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t widest = std::max(table.columns[i].header.size(), table.columns[i].unit.size());
    for (const std::vector<std::string>& row : table.rows) {
      if (!row.empty()) widest = std::max(widest, row[i].size());
    }
    width += widest + (i > 0 ? gap : 0);
  }
  return width;
}

std::string whole(const TextTable& table) {
  std::vector<std::string> headers, units;
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) {
    headers.push_back(column.header);
    units.push_back(column.unit);
    widths.push_back(std::max(column.header.size(), column.unit.size()));
  }
  for (const std::vector<std::string>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const std::string rule(width_of(table), '-');

  std::string text = line_of(headers, table.columns, widths);
  const bool any_unit = std::any_of(units.begin(), units.end(),
                                    [](const std::string& unit) { return !unit.empty(); });
  if (any_unit) text += line_of(units, table.columns, widths);
  text += rule + '\n';
  for (const std::vector<std::string>& row : table.rows) {
    text += row.empty() ? rule + '\n' : line_of(row, table.columns, widths);
  }
  return text;
}

}  // namespace

std::string format(const TextTable& table, Width width) {
  for (const std::vector<std::string>& row : table.rows) {
    if (row.empty() || row.size() == table.columns.size()) continue;
    throw std::logic_error("a row lacks cells");
  }
  TextTable shown = table;
  for (std::size_t i = shown.columns.size(); i-- > 1;) {
    if (!shown.rows.empty() && says_nothing(shown, i)) shown = without(std::move(shown), i);
  }
  std::string left_out;
  while (width == Width::page && width_of(shown) > page_width) {
    const auto next = std::ranges::max_element(shown.columns, {}, &Column::spare);
    if (next == shown.columns.end() || next->spare == 0) break;
    left_out += (left_out.empty() ? "" : ", ") + name_of(*next);
    shown = without(std::move(shown), static_cast<std::size_t>(next - shown.columns.begin()));
  }
  if (left_out.empty()) return whole(shown);
  return whole(shown) +
         wrapped("Left out to fit the page: " + left_out + "; --wide shows all.", page_width) +
         '\n';
}

}  // namespace fourfold
