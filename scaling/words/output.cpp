// Sentences of notices; see output.hpp.
#include "scaling/words/output.hpp"

#include <set>

#include "platforms/file/notice.hpp"
#include "schedule/models/model_file.hpp"

namespace fourfold::inline scaling::inline words {

void print_notices(const Platform& platform) {
  for (const std::string& sentence : notices(platform)) say_line("note: " + sentence + ".");
}

void say_once(const std::string& line) {
  static std::set<std::string> said;
  if (said.insert(line).second) say_line(line);
}

void say_what_is_not_said(const std::string& model) {
  if (model.empty()) return;
  const std::string sentence = not_said_by(model);
  if (!sentence.empty()) say_once("note: " + sentence + ".");
}

}  // namespace fourfold::inline scaling::inline words
