// A campaign is a set of questions that are answered together and compared with what was published.
#pragma once

#include <string>
#include <vector>

#include "scaling/find/question.hpp"
#include "scaling/find/verdict.hpp"

namespace fourfold {

struct Campaign {
  std::string name;  // of the file, without its ending
  std::string title;
  Fidelity fidelity = Fidelity::simulated;
  StoppingRule rule;
  std::vector<Question> questions;
  std::string published;  // path of a CSV of published rows; empty if none
};

// `grids_by` is instead of the file's, unless it is empty. Throws std::runtime_error with a
// sentence that starts with the file: unknown key (nearest known), platform or model; missing or
// impossible value; more devices than the machine has.
Campaign read_campaign(const std::string& path, const std::string& grids_by = "");

}  // namespace fourfold
