// Tables for people: columns aligned, a header of two lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/prose.hpp"

namespace fourfold::inline scaling::inline words {

enum class Align : unsigned char { left, right };

struct Column {
  std::string header;
  std::string unit;  // second line of the header
  Align align = Align::right;
  int spare = 0;  // the higher, the sooner it goes where a page is too narrow; 0: it stays
};

// A page, or as wide as it takes.
enum class Width : std::uint8_t { page, whole };

struct TextTable {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // an empty row is drawn as a rule
};

// Without columns in which no row says anything and, on a page, without those that it has no room
// for, which are named below it; a text goes on below itself, in the last column first. Every line
// ends in a newline and none in blanks. Throws std::logic_error if a row has not as many cells as
// there are columns.
std::string format(const TextTable& table, Width width = Width::page);

// The whole table as a LaTeX tabular with the rules of booktabs, without columns that say nothing.
std::string latex(const TextTable& table);

}  // namespace fourfold::inline scaling::inline words
