// Tables for people: columns aligned, a header of two lines.
#pragma once

#include <string>
#include <vector>

namespace fourfold {

enum class Align : unsigned char { left, right };

struct Column {
  std::string header;
  std::string unit;  // second line of the header
  Align align = Align::right;
};

struct TextTable {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // an empty row is drawn as a rule
};

// Every line ends in a newline and none in blanks. Throws std::logic_error if a row has not as many
// cells as there are columns.
std::string format(const TextTable& table);

}  // namespace fourfold
