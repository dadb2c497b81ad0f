// Prose for people: lines of a readable length, and nouns that agree with their number.
#pragma once
#include <cstdint>
#include <string>

namespace fourfold::inline support {

inline constexpr std::size_t line_width = 100;  // characters of a line of prose or help

inline constexpr std::size_t page_width = 120;  // of what stands in columns

// Line ends instead of blanks, so that no line has more than `width` characters unless a single
// word has. Line ends that are there stay.
std::string wrapped(const std::string& text, std::size_t width = line_width);

// The same for lines that begin with a label: what does not fit goes on below, `indent` blanks in.
std::string hanging(const std::string& text, std::size_t indent, std::size_t width = page_width);

// "1 grid", "2 grids", "3 micro-batches": regular nouns only.
std::string counted(std::int64_t number, const std::string& noun);

}  // namespace fourfold::inline support
