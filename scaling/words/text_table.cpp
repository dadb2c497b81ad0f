// Alignment of cells; see text_table.hpp.
#include "scaling/words/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/visible_text.hpp"

namespace fourfold::inline scaling::inline words {
namespace {

constexpr std::size_t gap = 2;

// Letters of UTF-8, of which some are several bytes.
std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(gap, ' ');
    const std::string padding(widths[i] - letters(cells[i]), ' ');
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
  const bool goes_on = column.header.ends_with("-") || column.header.ends_with("/");
  return goes_on ? column.header + column.unit : column.header;
}

TextTable without(TextTable table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  table.columns.erase(table.columns.begin() + at);
  for (std::vector<std::string>& row : table.rows) {
    if (!row.empty()) row.erase(row.begin() + at);
  }
  return table;
}

std::size_t width_of(const TextTable& table, const std::vector<std::size_t>& columns) {
  std::size_t width = columns.empty() ? 0 : gap * (columns.size() - 1);
  for (std::size_t i : columns) {
    std::size_t widest = std::max(letters(table.columns[i].header), letters(table.columns[i].unit));
    for (const std::vector<std::string>& row : table.rows) {
      if (!row.empty()) widest = std::max(widest, letters(row[i]));
    }
    width += widest;
  }
  return width;
}

std::size_t width_of(const TextTable& table) {
  std::vector<std::size_t> all(table.columns.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return width_of(table, all);
}

// A text in the last column may go on below itself.
constexpr std::size_t least_text = 28;  // characters a line: below that nobody reads on

bool folds(const TextTable& table) {
  return table.columns.back().align == Align::left;
}

std::size_t least_width_of(const TextTable& table, std::vector<std::size_t> columns) {
  const std::size_t last = table.columns.size() - 1;
  const std::size_t whole = width_of(table, columns);
  if (!folds(table) || std::erase(columns, last) == 0) return whole;
  return std::min(whole, width_of(table, columns) + gap + least_text);
}

// Those that a page has no room for, the last first: columns are taken by what they are worth as
// long as they fit.
std::vector<std::size_t> spared(const TextTable& table) {
  std::vector<std::size_t> by_worth;
  for (std::size_t i = 0; i < table.columns.size(); ++i) by_worth.push_back(i);
  const auto spare = [&](std::size_t i) { return table.columns[i].spare; };
  std::ranges::stable_sort(by_worth, {}, spare);
  std::vector<std::size_t> kept, left;
  for (std::size_t column : by_worth) {
    kept.push_back(column);
    if (spare(column) == 0 || least_width_of(table, kept) <= page_width) continue;
    kept.pop_back();
    left.push_back(column);
  }
  std::ranges::sort(left, std::ranges::greater());
  return left;
}

std::vector<std::size_t> widths_of(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) widths.push_back(width_of(table, {i}));
  return widths;
}

// Of a column of texts: its header, its longest word, or what is narrow anyhow. A longer word, such
// as the path of a file, goes on below itself.
std::size_t narrowest(const TextTable& table, std::size_t column) {
  constexpr std::size_t narrow = 12, longest_word = 24;
  const auto& [header, unit, align, spare] = table.columns[column];
  std::size_t longest = std::max({narrow, letters(header), letters(unit)});
  for (const std::vector<std::string>& row : table.rows) {
    std::istringstream words(row.empty() ? "" : row[column]);
    for (std::string word; words >> word;) {
      longest = std::max(longest, std::min(letters(word), longest_word));
    }
  }
  return longest;
}

// With words that no line has room for in parts, each but the last ending in a mark where one is.
std::string cut_to(const std::string& text, std::size_t width) {
  std::string result;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!result.empty()) result += ' ';
    while (letters(word) > width) {
      const std::size_t mark = word.find_last_of("/_,.:-=", width - 1);
      std::size_t end = mark == std::string::npos || mark == 0 ? width : mark + 1;
      while (end > 1 && (static_cast<unsigned char>(word[end]) & 0xC0U) == 0x80U) --end;
      result += word.substr(0, end) + ' ';
      word.erase(0, end);
    }
    result += word;
  }
  return result;
}

// As wide as a page lets them be: the last column gives way first, as that is where texts stand,
// and where that is not enough all that are no numbers do, the widest first.
std::vector<std::size_t> page_widths(const TextTable& table) {
  const std::size_t last = table.columns.size() - 1;
  std::vector<std::size_t> widths = widths_of(table), least = widths;
  for (std::size_t i = 0; i <= last; ++i) {
    const bool text = table.columns[i].align == Align::left;
    if (text) least[i] = std::min(widths[i], narrowest(table, i));
  }
  const auto excess = [&] {
    const std::size_t all = std::accumulate(widths.begin(), widths.end(), gap * last);
    return all > page_width ? all - page_width : 0;
  };
  const std::size_t of_text = std::max(least[last], least_text);
  if (widths[last] > of_text) widths[last] -= std::min(widths[last] - of_text, excess());
  while (excess() > 0) {
    std::optional<std::size_t> widest;
    for (std::size_t i = 0; i <= last; ++i) {
      const bool gives = widths[i] > least[i];
      if (gives && (!widest || widths[i] > widths[*widest])) widest = i;
    }
    if (!widest) break;
    --widths[*widest];
  }
  return widths;
}

// Texts that are wider than their columns go on in rows of their own.
TextTable folded(TextTable table) {
  const std::vector<std::size_t> natural = widths_of(table), widths = page_widths(table);
  std::vector<std::vector<std::string>> rows;
  for (const std::vector<std::string>& row : table.rows) {
    const std::size_t first = rows.size();
    rows.push_back(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths[i] == natural[i]) continue;
      std::istringstream lines(wrapped(cut_to(row[i], widths[i]), widths[i]));
      std::size_t place = first;
      for (std::string line; std::getline(lines, line); ++place) {
        if (place == rows.size()) rows.emplace_back(row.size());
        rows[place][i] = line;
      }
    }
  }
  table.rows = std::move(rows);
  return table;
}

std::string whole(const TextTable& table) {
  std::vector<std::string> headers, units;
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) {
    headers.push_back(column.header);
    units.push_back(column.unit);
    widths.push_back(std::max(letters(column.header), letters(column.unit)));
  }
  for (const std::vector<std::string>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], letters(row[i]));
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

TextTable without_silent_columns(TextTable table) {
  for (std::size_t i = table.columns.size(); i-- > 1;) {
    if (!table.rows.empty() && says_nothing(table, i)) table = without(std::move(table), i);
  }
  return table;
}

std::string latex_cell(const std::string& cell) {
  std::string text;
  for (const char letter : visible_line(cell)) {
    const bool special = std::string("&%$#_{}").find(letter) != std::string::npos;
    if (letter == '\\') {
      text += "\\textbackslash{}";
    } else if (letter == '~' || letter == '^') {
      text += std::string("\\") + letter + "{}";
    } else {
      text += special ? std::string("\\") + letter : std::string(1, letter);
    }
  }
  return text;
}

}  // namespace

std::string latex(const TextTable& given) {
  const TextTable table = without_silent_columns(given);
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text;
    for (const std::string& cell : cells) text += (text.empty() ? "  " : " & ") + latex_cell(cell);
    return text + " \\\\\n";
  };
  std::string text = "\\begin{tabular}{";
  std::vector<std::string> headers, units;
  for (const Column& column : table.columns) {
    text += column.align == Align::left ? 'l' : 'r';
    headers.push_back(column.header);
    units.push_back(column.unit);
  }
  text += "}\n\\toprule\n" + line(headers) + line(units) + "\\midrule\n";
  for (const std::vector<std::string>& row : table.rows) {
    text += row.empty() ? "\\midrule\n" : line(row);
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string format(const TextTable& table, Width width) {
  for (const std::vector<std::string>& row : table.rows) {
    if (row.empty() || row.size() == table.columns.size()) continue;
    throw std::logic_error("a row lacks cells");
  }
  TextTable shown = table;
  for (std::vector<std::string>& row : shown.rows) {
    std::ranges::transform(row, row.begin(), visible_line);  // a cell has no line ends of its own
  }
  shown = without_silent_columns(std::move(shown));
  std::string left_out;
  if (width == Width::page && width_of(shown) > page_width) {
    for (std::size_t column : spared(shown)) {
      left_out.insert(0, name_of(shown.columns[column]) + (left_out.empty() ? "" : ", "));
      shown = without(std::move(shown), column);
    }
  }
  if (width == Width::page && width_of(shown) > page_width) shown = folded(std::move(shown));
  if (left_out.empty()) return whole(shown);
  return whole(shown) +
         wrapped("Left out to fit the page: " + left_out + "; --wide shows all.", page_width) +
         '\n';
}

}  // namespace fourfold::inline scaling::inline words
