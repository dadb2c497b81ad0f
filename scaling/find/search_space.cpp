// From a question's words to what is searched; see search_space.hpp.
#include "scaling/find/search_space.hpp"

#include "platforms/device_memory.hpp"

namespace fourfold::inline scaling::inline find {

double risk_of(const Question& question) {
  return question.memory_risk.value_or(usual_memory_risk);
}

SearchSpace search_space(const Question& question, const Platform& platform) {
  SearchSpace space{question.devices, question.stages};
  space.memory_risk = risk_of(question);
  if (question.grid) {
    space.stages = {question.grid->extent(Axis::pipe)};
    space.looks_at = [&](const ProcessGrid& grid) { return grid == *question.grid; };
  } else if (question.system) {
    space.looks_at = [&](const ProcessGrid& grid) {
      return searches(*question.system, grid, question.options.rank_order, platform.node.devices);
    };
  }
  return space;
}

}  // namespace fourfold::inline scaling::inline find
