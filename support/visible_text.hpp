// Text of files, names and models as a terminal may show it.
#pragma once

#include <string>

namespace fourfold::inline support {

// Control characters, bytes that are no UTF-8, and marks that turn the direction of writing become
// words such as \x1b and \u202e, so that no text moves the cursor, rings or hides what follows.
// Line ends and tabs stay.
std::string visible(const std::string& text);

// The same in one line: line ends become \n, so that no name makes one sentence look like two.
std::string visible_line(const std::string& text);

// Whether all its bytes are letters of UTF-8, as records and logs, which are JSON, ask for.
bool is_utf8(const std::string& text);

}  // namespace fourfold::inline support
