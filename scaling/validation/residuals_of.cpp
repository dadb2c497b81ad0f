// Row by row, with the first of each choice and configuration; see residuals_of.hpp.
#include "scaling/validation/residuals_of.hpp"

#include <map>

namespace fourfold::inline scaling::inline validation {

std::vector<Residual> residuals_of(const std::vector<SetResult>& results) {
  std::vector<Residual> residuals;
  std::map<std::string, std::string> choices, configurations;  // to the first id
  for (const SetResult& result : results) {
    for (std::size_t i : cases_that_ran(result, "", SampleSide::out)) {
      const CaseResult& one = result.cases[i];
      if (one.one.measured != Measured::step) continue;  // parts may err where the whole does not
      const Question& question = one.one.question;
      const Platform platform =
          read_platform(question.platform, question.scales, question.software);
      Residual residual{one.one.study,
                        one.one.id,
                        likeness(one.projection->grid, question.options, platform),
                        1.0 / (1.0 + one.deviation()),
                        one.one.id,
                        one.one.id};
      if (question.grid) {
        const std::string choice = choice_of(one);
        residual.choice = choices.emplace(choice, one.one.id).first->second;
        residual.configuration =
            configurations.emplace(one.one.study + configuration_of(one), one.one.id).first->second;
      }
      residuals.push_back(residual);
    }
  }
  return residuals;
}

}  // namespace fourfold::inline scaling::inline validation
