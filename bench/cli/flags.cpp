// Reading words and writing text; see flags.hpp.
#include "bench/cli/flags.hpp"

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "engine/train/flags/command_line.hpp"
#include "engine/train/verbs.hpp"
#include "support/exit_status.hpp"
#include "support/help_format.hpp"
#include "support/refused_words.hpp"

namespace fourfold::inline bench::inline cli {

std::optional<int> parsed(CLI::App& app, const std::string& name,
                          const std::vector<std::string>& words) {
  app.name(name);
  format_help(app);
  try {
    parse_words(app, words);
  } catch (const CLI::Success&) {  // --help
    return print_help(app);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  }
  return std::nullopt;
}

std::string plan_of(std::int64_t ranks, const std::string& verb,
                    const std::vector<std::string>& words) {
  std::vector<std::string> arguments{verb};
  for (const std::string& word : words) {
    if (word != "--plan") arguments.push_back(word);
  }
  return nlohmann::json{{"ranks", ranks}, {"arguments", arguments}}.dump() + "\n";
}

}  // namespace fourfold::inline bench::inline cli
