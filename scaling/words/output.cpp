// Sentences of notices; see output.hpp.
#include "scaling/words/output.hpp"

#include "platforms/file/notice.hpp"

namespace fourfold::inline scaling::inline words {

void print_notices(const Platform& platform) {
  for (const std::string& sentence : notices(platform)) say_line("note: " + sentence + ".");
}

}  // namespace fourfold::inline scaling::inline words
