// From bytes to lines; see text_file.hpp.
#include "support/text_file.hpp"

#include <filesystem>
#include <stdexcept>

namespace fourfold::inline support {
namespace {

constexpr const char* byte_order_mark = "\xef\xbb\xbf";

// In place; a carriage return that ends no line stays.
void drop_carriage_returns(std::string& text) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text[kept++] = text[i];
  }
  text.resize(kept);
}

}  // namespace

std::string read_text_file(const std::string& path, const std::string& what, std::int64_t most) {
  std::string text = read_whole_file(path, what, most);
  if (text.starts_with(byte_order_mark)) text.erase(0, std::string(byte_order_mark).size());
  drop_carriage_returns(text);
  return text;
}

std::vector<TextLine> lines_of(const std::string& text) {
  std::vector<TextLine> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const bool ended = end != std::string::npos;
    lines.push_back({static_cast<std::int64_t>(lines.size()) + 1,
                     text.substr(begin, ended ? end - begin : end), ended});
    if (!ended) break;
    begin = end + 1;
  }
  return lines;
}

std::vector<TextLine> read_lines(const std::string& path, const std::string& what) {
  return lines_of(read_text_file(path, what));
}

std::vector<TextLine> read_own_lines(const std::string& path, const std::string& what) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, unknown);
  if (status.type() == std::filesystem::file_type::not_found) return {};
  if (is_symlink(status)) {
    throw std::runtime_error("cannot read " + what + (what.empty() ? "" : " ") + path +
                             ": it is a link, which might lead out of its folder; remove it");
  }
  return read_lines(path, what);
}

}  // namespace fourfold::inline support
