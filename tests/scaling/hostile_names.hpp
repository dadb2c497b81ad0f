// Names and texts that somebody may send who means harm, and harmless ones that look like it: each
// would leave a file canary behind where it is taken for code.
#pragma once

#include <string>
#include <vector>

#include "tests/drawn_steps.hpp"

namespace fourfold::tests {

inline std::vector<std::string> hostile_pieces() {
  return {"`touch canary`",
          "$(touch canary)",
          "';touch canary;'",
          "\";touch canary;\"",
          "a'$(touch canary)'b",
          "\".system(\"touch canary\").\"",
          "'.system('touch canary').'",
          "@ARG1 @draw",
          "{/Symbol a}_{x}^{y}",
          "%s%q%n%99999999d",
          "../../../canary",
          "-rf",
          "--help",
          "<script>canary()</script>",
          "\"><img src=x onerror=canary()>",
          "</svg></pre>--><b>bold</b>",
          std::string(300, 'x'),
          "na\u00efve \u540d\u524d \u202e turned",
          "a\ntouch canary\n!touch canary\n#SBATCH --wrap=canary",
          "| touch canary",
          "< touch canary",
          "# no comment",
          "a\\nb\\101\\",
          "=cmd|'/c touch canary'!A1",
          "&amp; &lt; &#x3c; &#0;",
          "\x1b[2Jred\x07",
          "\xff\xfe no UTF-8",
          "!touch canary",
          ":",
          "{{command}} {cc} %a %j",
          "a,b;c\td",
          "&& touch canary &",
          "$HOME ~ * ?",
          "it's dir's"};
}

// All pieces, then as many made of two or three of them.
inline std::vector<std::string> hostile_names() {
  const std::vector<std::string> pieces = hostile_pieces();
  std::vector<std::string> names = pieces;
  for (std::int64_t i = 0; i < std::ssize(pieces); ++i) {
    const Draw draw(i, 32);
    std::string name;
    for (std::int64_t k = 0; k < 2 + draw.below("parts", 2); ++k) {
      const std::string what = "piece " + std::to_string(k);
      name += pieces[static_cast<std::size_t>(draw.below(what, std::ssize(pieces)))];
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace fourfold::tests
