// What the what-ifs of a question do: its answer without them beside the one with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/bars/varied.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline find {

struct WhatIfEffect {
  Seconds without, with;         // of as many sequences
  std::int64_t sequences = 0;    // those, where they are not the whole batch without
  std::int64_t whole_batch = 0;  // that one
  std::string why_none_without;  // a sentence, where there is no answer without them
  double tokens_per_s_without = 0.0, tokens_per_s_with = 0.0;
  std::string grid_without;                  // where it is another one
  double tie = 0.0;                          // see ErrorBar; 0: nobody can tell
  std::vector<Limit> limits;                 // where nothing changed: what limits instead
  std::vector<std::string> belong_together;  // then, of scaled numbers: "nics: all of its keys"
  std::vector<std::string> failed;           // links whose traffic goes around them

  double change() const { return with / without - 1.0; }
  bool within_tie() const;
  bool nothing() const;  // changed, where there is an answer without them
};

// The question as it is without what-ifs and without scaled numbers.
Question without_what_ifs(Question asked);

// `asked` is the question with what-ifs or scaled numbers that the record answers; where it differs
// from it otherwise, `without` is that question without them. Absent if there are none.
std::optional<WhatIfEffect> effect_of_what_ifs(const Question& asked, const Record& record,
                                               const StoppingRule& rule,
                                               const ProgressWatch& watch);
WhatIfEffect effect_against(const Question& without, const Question& asked, const Record& record,
                            const StoppingRule& rule, const ProgressWatch& watch);

}  // namespace fourfold::inline scaling::inline find
