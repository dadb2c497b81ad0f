// Five letters are markup; see markup_text.hpp.
#include "support/markup_text.hpp"

#include "support/visible_text.hpp"

namespace fourfold::inline support {

std::string markup_text(const std::string& text) {
  std::string safe;
  for (const char letter : visible(text)) {
    switch (letter) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

}  // namespace fourfold::inline support
