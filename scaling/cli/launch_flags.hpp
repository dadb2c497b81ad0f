// A question in the words of another program: --megatron "ARGUMENTS" and --neox FILE.yml become the
// flags of a verb that say the same, before they are read.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fourfold::inline scaling::inline cli {

// --megatron and --neox, for the help: no verb ever sees them.
void add_launch_flags(CLI::App& verb);

// The words of a command line with theirs said as flags of its verb; what is typed besides goes
// before them. Says on standard error what they became, and what nothing here speaks of. Throws
// std::runtime_error with a sentence.
std::vector<std::string> with_launch_flags(const CLI::App& app, std::vector<std::string> words);

}  // namespace fourfold::inline scaling::inline cli
