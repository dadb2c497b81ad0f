// From bytes to lines; see text_file.hpp.
#include "support/text_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace fourfold::inline support {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view bytes;
  const char* what;
};

constexpr const char* in_utf16 = "it is text in UTF-16; save it as UTF-8";

// What people have in the place of text, by its first bytes.
constexpr std::array no_text{
    Beginning{"\xff\xfe"sv, in_utf16},
    Beginning{"\xfe\xff"sv, in_utf16},
    Beginning{"\x1f\x8b\x08"sv, "it is packed by gzip; unpack it first"},
    Beginning{"\x28\xb5\x2f\xfd"sv, "it is packed by zstd; unpack it first"},
    Beginning{"\xfd\x37zXZ"sv, "it is packed by xz; unpack it first"},
    Beginning{"BZh91AY"sv, "it is packed by bzip2; unpack it first"},
    Beginning{"PK\x03\x04"sv,
              "it is a zip archive or a table of an office program; save it as text"},
    Beginning{"\xd0\xcf\x11\xe0"sv, "it is a file of an office program; save it as text"},
    Beginning{"%PDF-"sv, "it is a PDF; give the text itself"}};

// Empty: nothing speaks against text.
std::string why_no_text(std::string_view text) {
  for (const Beginning& one : no_text) {
    if (text.starts_with(one.bytes)) return one.what;
  }
  // Latin text in UTF-16 without a mark: every second byte is 0.
  constexpr std::size_t enough = 8;
  const std::string_view first = text.substr(0, 64);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < first.size(); ++i) zeros.at(i % 2) += first[i] == '\0' ? 1 : 0;
  const bool every_second = first.size() >= enough && std::ranges::min(zeros) == 0 &&
                            std::ranges::max(zeros) >= first.size() / 2 - first.size() / 16;
  return every_second ? in_utf16 : "";
}

// In place; a carriage return that ends no line stays, unless all lines are ended by one alone.
void drop_carriage_returns(std::string& text) {
  if (text.find('\n') == std::string::npos) {
    std::ranges::replace(text, '\r', '\n');
    return;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text[kept++] = text[i];
  }
  text.resize(kept);
}

}  // namespace

std::string_view without_mark(std::string_view text) {
  constexpr auto mark = "\xef\xbb\xbf"sv;
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

std::string read_text_file(const std::string& path, const std::string& what, std::int64_t most) {
  std::string text = read_whole_file(path, what, most);
  if (const std::string why = why_no_text(text); !why.empty()) {
    throw std::runtime_error("cannot read " + what + (what.empty() ? "" : " ") + path + ": " + why);
  }
  text.erase(0, text.size() - without_mark(text).size());
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
