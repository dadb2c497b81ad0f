// How people say a space of strategies, on the command line and in files: lists of words, such as
// "1,2,4-8" or "all".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "sim/estimate/strategy_space.hpp"
#include "support/field.hpp"

namespace fourfold::inline scaling::inline find {

// Empty: not said.
struct SpaceWords {
  std::string devices, nodes;  // one of the two
  std::string grid;            // "x=1,2,4,pipe=all": others are 1, and data is what they leave
  std::string stages;          // without a grid: of pipe, while x, y and z are all that divide
  std::string micro_batch_size, micro_batches;
  std::map<std::string, std::string> options;  // by flag
};

// A question about whole strategies.
struct StrategyQuestion {
  std::string title;
  std::string model_flags;  // that say the model again: "--model gpt-5b --vocabulary 32000"
  Point pattern;            // what all of them share; its batch is 0 if the space makes it
  StrategySpace space;
};

std::string model_flags(const std::string& name_or_path, const FieldValues& instead);

// What separates the words that a flag of the step is given: a comma, or a slash where a comma
// stands within a word, as in --overlap none/oar,ors/all.
char separator_of(const std::string& flag);
// The words of a list. Throws std::runtime_error if there is none, or an empty one; `what` is the
// flag or key.
std::vector<std::string> listed(const std::string& what, const std::string& text,
                                char separator = ',');
// "1,2,4-8" as numbers.
std::vector<std::int64_t> numbers_in(const std::string& what, const std::string& text);

// Whether a grid is a list of several, and not one that ProcessGrid::parse reads.
bool lists_grids(const std::string& grid);

// Whether sizes and numbers of micro-batches make the batch.
bool makes_its_batch(const StrategySpace& space);

// Sets what has one word in `pattern`, and returns what is left open. Throws std::runtime_error
// with a sentence.
StrategySpace space_in(const SpaceWords& words, const Platform& platform, StepOptions& pattern);

}  // namespace fourfold::inline scaling::inline find
