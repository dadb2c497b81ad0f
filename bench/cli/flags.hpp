// What the verbs of fourfold-bench have in common: how words are read, and how results are said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fourfold::inline bench::inline cli {

// Reads the words; a status where the verb is over: help was asked for, or a word is refused.
std::optional<int> parsed(CLI::App& app, const std::string& name,
                          const std::vector<std::string>& words);

// What --plan prints for `fourfold`: on how many ranks and with which words to start this.
std::string plan_of(std::int64_t ranks, const std::string& verb,
                    const std::vector<std::string>& words);

}  // namespace fourfold::inline bench::inline cli
