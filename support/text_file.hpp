// Text that people and programs write, read whole: without a byte order mark, each line ended by a
// line feed alone, whatever editor or system wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/whole_file.hpp"

namespace fourfold::inline support {

// As read_whole_file.
std::string read_text_file(const std::string& path, const std::string& what = "",
                           std::int64_t most = most_input_bytes);

// Of a text that is in memory, what follows its byte order mark, if it has one.
std::string_view without_mark(std::string_view text);

struct TextLine {
  std::int64_t number = 1;
  std::string text;   // without its end
  bool ended = true;  // only the last may lack it: it is being written, or was cut off
};

std::vector<TextLine> lines_of(const std::string& text);
std::vector<TextLine> read_lines(const std::string& path, const std::string& what = "");
// Of a file in a folder of ours, whose name nobody typed: none where there is no such file; a link,
// which might lead out of the folder, is refused, as what cannot be read is.
std::vector<TextLine> read_own_lines(const std::string& path, const std::string& what = "");

}  // namespace fourfold::inline support
