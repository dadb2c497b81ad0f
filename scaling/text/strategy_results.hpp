// A search over whole strategies as JSON, and as a folder of tables and plots.
#pragma once

#include <string>

#include "scaling/find/strategy_finding.hpp"

namespace fourfold::inline scaling::inline text {

// One line; docs/search.md says its keys.
std::string to_json(const StrategyFinding& finding);

// "choice,entries,share,alone,share_feasible,alone_feasible", of the variance, the largest first.
std::string influence_csv(const Influences& influences);

// What is kept of an answer: as it is printed, with all columns.
struct StrategyFiles {
  std::string table, json;  // the second is one line
};

// Writes answer.json, table.txt and, where influences were asked for, influence.csv and their plot.
// Returns a sentence for the user: what is there.
std::string write_strategies(const StrategyFinding& finding, const StrategyFiles& files,
                             const std::string& folder, double width_in = 0.0);

}  // namespace fourfold::inline scaling::inline text
