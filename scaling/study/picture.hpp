// Pictures by gnuplot. What comes from files and names reaches it as data only: the table as a file
// that we write, and texts as arguments of the script, which gnuplot -c keeps as they are; the
// scripts (plots/) start no process and evaluate no text.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline study {

struct Picture {
  std::string script;              // "pflops" of plots/pflops.gp
  std::string csv;                 // what is drawn, with a line of column names
  std::string output;              // path without its endings
  std::vector<std::string> texts;  // the script's own, six at most
  double width_in = 0.0;           // inches of a column of a paper; 0: as wide as it needs
};

struct NoGnuplot : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes OUTPUT.png, .svg and .pdf of each. Returns a sentence each: empty, or why there is no
// picture; what was there before then stays. Several processes may draw the same at once: each has
// a folder of its own for drafts. Throws NoGnuplot, and std::runtime_error where there is no room
// for drafts.
std::vector<std::string> draw(const std::vector<Picture>& pictures);

// In characters; of `output` only the folder has a meaning. Throws std::runtime_error with a
// sentence.
std::string in_characters(const Picture& picture);

// The table as gnuplot is given it: cells between tabs, none with a quote, a control character or
// an escape.
std::string gnuplot_table(const std::string& csv);

// A text as gnuplot is given it: one line, as long as somebody may read.
std::string gnuplot_text(const std::string& text);

}  // namespace fourfold::inline scaling::inline study
