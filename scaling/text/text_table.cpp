// Alignment of cells; see text_table.hpp.
#include "scaling/text/text_table.hpp"

#include <algorithm>
#include <stdexcept>

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

}  // namespace

std::string format(const TextTable& table) {
  std::vector<std::string> headers, units;
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) {
    headers.push_back(column.header);
    units.push_back(column.unit);
    widths.push_back(std::max(column.header.size(), column.unit.size()));
  }
  std::size_t whole = 0;
  for (const std::vector<std::string>& row : table.rows) {
    if (!row.empty() && row.size() != widths.size()) throw std::logic_error("a row lacks cells");
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (std::size_t width : widths) whole += width + gap;
  const std::string rule(whole < gap ? 0 : whole - gap, '-');

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

}  // namespace fourfold
