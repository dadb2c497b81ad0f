// The command line flags of a search: those of a question, of which options of the step may be
// lists.
#pragma once

#include <map>
#include <string>

#include "scaling/cli/question_flags.hpp"
#include "scaling/find/strategy_words.hpp"

namespace fourfold::inline scaling::inline cli {

struct StrategyFlags {
  QuestionFlags question;
  std::string file;  // a space as TOML, instead of all others
  std::string nodes, micro_batch_size, micro_batches;
  std::map<std::string, std::string> options;  // by flag, what was typed

  // Whether more than grids and micro-batches is left open.
  bool open() const;
};

void add_strategy_flags(CLI::App& verb, StrategyFlags& flags);

// With the options that have one word; for a search over grids.
QuestionFlags question_flags(const StrategyFlags& flags);
// What the verb was typed with says which of its flags cannot take effect. Throws
// std::runtime_error with a sentence.
StrategyQuestion strategy_question(const StrategyFlags& flags, const CLI::App& verb);

}  // namespace fourfold::inline scaling::inline cli
