// What other values of what an answer takes for granted would make of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline find {

// Another batch, sequence, precision or software, on the same grid by estimate.
struct Granted {
  std::string what;     // "twice the batch", "software torchtune-eager"
  double change = 0.0;  // of the seconds of a token: -0.1 is a tenth less
};

// Those that fit and can be estimated. Software is another only where the machine says which it is.
std::vector<Granted> granted_changes(const Record& record);

// Whether it changes the seconds of a token by more than answers tie within, or by a twentieth
// where nobody knows what ties.
bool matters(const Granted& one, const Record& record);

// For --json: of each `what`, `change` and `matters`.
nlohmann::json granted_json(const Record& record);

// Which of them matter and which do not; one sentence or two.
std::string granted_text(const std::vector<Granted>& changes, const Record& record);

}  // namespace fourfold::inline scaling::inline find
