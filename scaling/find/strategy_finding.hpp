// What a search over whole strategies found, and how much each choice of its space matters.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/bars/error_bar.hpp"
#include "scaling/find/strategy_words.hpp"
#include "scaling/records/question.hpp"
#include "sim/estimate/influence.hpp"
#include "sim/estimate/strategies.hpp"
#include "sim/question/throughput.hpp"

namespace fourfold::inline scaling::inline find {

// Of the choices that the space leaves open.
struct Influences {
  std::vector<Factor> factors;
  Influence whole;     // what is out of memory has 0 flop/s
  Influence feasible;  // without it

  // Numbers of the factors, the largest share of the whole first.
  std::vector<std::size_t> by_share() const;
};

struct StrategyFinding {
  StrategyQuestion question;
  Platform platform;
  StrategyAnswer answer;
  std::optional<ErrorBar> bar;           // of the best strategy's seconds
  std::optional<Influences> influences;  // if all strategies were looked at
};

// `watch` is told what is being done, and which part of all is done, 0 to 1. Throws
// std::runtime_error with a sentence, and Interrupted.
StrategyFinding find_strategies(const StrategyQuestion& question, const StrategyWish& wish,
                                const std::function<void(const std::string&, double)>& watch);

// The point that a strategy of the question is.
Point point_of(const StrategyQuestion& question, const Strategy& strategy);

// The question that a strategy is, and the command that projects it by itself, with other words for
// these flags; a flag without a word is left out.
Question question_of(const StrategyQuestion& question, const Strategy& strategy);
std::string project_command(const StrategyQuestion& question, const Strategy& strategy,
                            const std::map<std::string, std::string>& instead = {});

}  // namespace fourfold::inline scaling::inline find
