// Text of files and names in XML, SVG and HTML.
#pragma once

#include <string>

namespace fourfold::inline support {

// As text, or between the quotes of an attribute: "<b>" as "&lt;b&gt;". What no XML may hold,
// control characters and bytes that are no UTF-8, is shown in words (visible_text.hpp).
std::string markup_text(const std::string& text);

}  // namespace fourfold::inline support
