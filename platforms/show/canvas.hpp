// A sheet of characters to draw on: texts and lines at columns and rows, for pictures in a
// terminal.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline platforms::inline show {

struct Spot {
  int column = 0;
  int row = 0;
};

class Canvas {
 public:
  Canvas(int columns, int rows);

  // What falls outside the sheet is not drawn.
  void write(Spot at, const std::string& text);
  // One character per row of a slanted line, so that two columns a row still reads as a line.
  void line(Spot from, Spot to);
  // Rows joined by newlines, without blanks at their ends.
  std::string text() const;

 private:
  void put(Spot at, char letter);

  std::vector<std::string> rows_;
};

}  // namespace fourfold::inline platforms::inline show
