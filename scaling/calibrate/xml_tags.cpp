// A scan from < to >; see xml_tags.hpp.
#include "scaling/calibrate/xml_tags.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace fourfold::inline scaling::inline calibrate {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string resolved(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> entities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};
  std::string plain;
  while (!text.empty()) {
    std::size_t length = 1;
    char letter = text.front();
    for (const auto& [entity, stands_for] : entities) {
      if (!text.starts_with(entity)) continue;
      letter = stands_for;
      length = entity.size();
    }
    plain += letter;
    text.remove_prefix(length);
  }
  return plain;
}

// name="value" after name="value".
void read_attributes(std::string_view text, XmlTag& tag) {
  while (true) {
    const std::size_t begin = text.find_first_not_of(blanks);
    const std::size_t equals = text.find('=');
    if (begin == std::string_view::npos || equals == std::string_view::npos || begin > equals) {
      return;
    }
    const std::size_t open = text.find_first_of("\"'", equals);
    if (open == std::string_view::npos) return;
    const std::size_t close = text.find(text[open], open + 1);
    if (close == std::string_view::npos) return;
    const std::string_view name = text.substr(begin, equals - begin);
    tag.attributes[std::string(name.substr(0, name.find_first_of(blanks)))] =
        resolved(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

// Where the tag that begins at `at` ends; a > in quotes is none.
std::size_t end_of_tag(std::string_view all, std::size_t at) {
  char quote = 0;
  for (; at < all.size(); ++at) {
    if (quote == 0 && all[at] == '>') return at;
    if (quote != 0 ? all[at] == quote : all[at] == '"' || all[at] == '\'') {
      quote = quote != 0 ? 0 : all[at];
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string XmlTag::operator[](const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? "" : found->second;
}

std::vector<XmlTag> xml_tags(const std::string& xml) {
  std::vector<XmlTag> tags;
  const std::string_view all = xml;
  std::size_t at = all.find('<');
  while (at != std::string_view::npos) {
    const bool comment = all.substr(at).starts_with("<!--");
    const std::size_t end = comment ? all.find("-->", at) : end_of_tag(all, at);
    if (end == std::string_view::npos) break;
    const std::size_t next = all.find('<', end);
    std::string_view inside = all.substr(at + 1, end - at - 1);
    if (!comment && !inside.starts_with('!') && !inside.starts_with('?')) {
      XmlTag tag;
      tag.closed = inside.ends_with('/');
      if (tag.closed) inside.remove_suffix(1);
      const std::size_t name = std::min(inside.find_first_of(blanks), inside.size());
      tag.name = inside.substr(0, name);
      read_attributes(inside.substr(name), tag);
      tag.text = all.substr(end + 1, next - end - 1);
      tags.push_back(std::move(tag));
    }
    at = next;
  }
  return tags;
}

}  // namespace fourfold::inline scaling::inline calibrate
