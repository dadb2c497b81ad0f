// Unknown words first, then CLI11's own sentences; see refused_words.hpp.
#include "support/refused_words.hpp"

#include <vector>

#include "support/nearest_name.hpp"

namespace fourfold::inline support {

const CLI::App& typed_verb(const CLI::App& app) {
  const std::vector<CLI::App*> typed = app.get_subcommands();
  return typed.empty() ? app : typed_verb(*typed.front());
}

std::string sentence_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::string said = error.what();
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  if (unknown.empty()) {
    const std::size_t twice = said.find(": At Most 1 required");
    return twice == std::string::npos ? said
                                      : said.substr(0, twice) + " is given twice; give it once";
  }
  const std::string word = unknown.front().substr(0, unknown.front().find('='));
  const CLI::App& verb = typed_verb(app);
  std::vector<std::string> known;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : verb.get_options()) {
      if (option->nonpositional()) known.push_back(option->get_name());
    }
    return "unknown flag '" + word + "'" + did_you_mean(word, known);
  }
  for (const CLI::App* inner : verb.get_subcommands({})) known.push_back(inner->get_name());
  if (known.empty()) return "'" + word + "' is one argument too many";
  return "unknown verb '" + word + "'" + did_you_mean(word, known);
}

}  // namespace fourfold::inline support
