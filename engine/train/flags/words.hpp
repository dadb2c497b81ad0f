// Words of the command line that stand for one of a few choices.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "schedule/program/step_options.hpp"
#include "support/nearest_name.hpp"

namespace fourfold {

// The choice whose name(choice) is `word`. Throws std::runtime_error that names the flag and the
// nearest choice.
template <typename Choice>
Choice choice_named(const std::string& flag, const std::string& word,
                    const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (Choice choice : choices) {
    names.emplace_back(name(choice));
    if (word == names.back()) return choice;
  }
  throw std::runtime_error("unknown " + flag + " '" + word + "'" + did_you_mean(word, names));
}

// "all", "none", or some of oar,ors,oag,recompute. Throws std::runtime_error.
Overlap overlap_named(const std::string& words);

// The inverse: "all", "none" or "oar,oag".
std::string overlap_text(const Overlap& overlap);

}  // namespace fourfold
