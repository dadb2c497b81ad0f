// An outcome as a JSON value, for the answer of fourfold-replay and for the records.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/question/outcome.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline sim::inline question {

// Seconds are written so that reading gives back the same bits.
nlohmann::json json_of(const Outcome& outcome);
// Throws std::runtime_error with a sentence on anything missing, unknown or negative.
Outcome read_outcome(JsonObject object);

}  // namespace fourfold::inline sim::inline question
