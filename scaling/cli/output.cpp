// Sentences of notices; see output.hpp.
#include "scaling/cli/output.hpp"

#include "platforms/file/notice.hpp"

namespace fourfold {

void print_notices(const Platform& platform) {
  for (const std::string& sentence : notices(platform)) say("note: " + sentence + ".\n");
}

}  // namespace fourfold
