// A command line that can be read again: the flags that were typed, as values that checkpoints
// keep, so that a resumed run goes on with those that are not typed anew.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace fourfold::inline engine::inline train::inline flags {

// Throws std::runtime_error if an option was typed now that, beside all others, those that a
// checkpoint remembers among them, has no effect.
void refuse_without_effect(const CLI::App& now, const CLI::App& all);

// The same of the flags of drawn text alone; `seed` is the flag of its seed.
void refuse_drawing_without_effect(const CLI::App& now, const CLI::App& all, const char* seed);

// Words after the verb. Throws CLI::ParseError, of which CLI::Success stands for --help;
// sentence_of() puts it into words.
void parse_words(CLI::App& verb, const std::vector<std::string>& words);

// {"--batch": ["16"], ...}: all that was typed but what belongs to one run only (folder, log,
// trace, resume).
nlohmann::json typed_flags(const CLI::App& verb);

// `words` and those of `before` that they do not replace, but never what belongs to one run only:
// nobody's files are written on the word of a file. Throws std::runtime_error about a flag of
// `before` that there is not. --ranks and --grid go together, --steps and
// --minutes, too.
std::vector<std::string> words_with(const std::vector<std::string>& words, const CLI::App& parsed,
                                    const nlohmann::json& before);

// What of `before` words_with() leaves out although nothing replaces it, which honest checkpoints
// do not hold: "--log /etc/motd --folder .."; empty as a rule.
std::string left_out(const nlohmann::json& before);
// Takes away what of `before` speaks of stages, where other ones are typed and their number is not
// that of before: "--order interleaved --chunks 2". Empty where nothing does.
std::string take_flags_of_stages(const CLI::App& parsed, nlohmann::json& before);
// What of `before` it takes that names files to be read: "--data book.txt".
std::string files_taken(const CLI::App& parsed, const nlohmann::json& before);

}  // namespace fourfold::inline engine::inline train::inline flags
