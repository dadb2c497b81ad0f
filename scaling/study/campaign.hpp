// A campaign is a set of questions that are answered together and compared with what was published.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaling/find/question.hpp"
#include "scaling/find/verdict.hpp"

namespace fourfold {

// What a point is called among those of its campaign.
struct PointTag {
  std::string label;            // of its sweeps; empty: none
  std::optional<double> value;  // that a sweep over numbers gave it
  std::int64_t repetition = 1;  // with another seed each, from 1
};

struct Campaign {
  std::string name;  // of the file, without its ending
  std::string title;
  Fidelity fidelity = Fidelity::simulated;
  StoppingRule rule;
  std::vector<Question> questions;
  std::string published;            // path of a CSV of published rows; empty if none
  std::vector<PointTag> tags = {};  // of the questions, one each; empty: none has any
  // Kinds (scaling/study/figure.hpp); empty: by what it holds.
  std::vector<std::string> figures = {};
  double tokens = 0.0;    // of the run whose days are given; 0: none
  std::string axis = {};  // what the values of the tags are
};

// `grids_by` is instead of the file's, unless it is empty. Throws std::runtime_error with a
// sentence that starts with file and line: unknown key (nearest known), platform or model; missing
// or impossible value; more devices than the machine has.
Campaign read_campaign(const std::string& path, const std::string& grids_by = "");

}  // namespace fourfold
