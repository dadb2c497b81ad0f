// What-ifs as JSON: each is the word that people type.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/conditions/what_ifs.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline support {
template <typename T>
class FieldTable;
}  // namespace fourfold::inline support

namespace fourfold::inline sim::inline conditions {

// Every what-if: its key in campaigns, points and records, and its flag. One that is not said is
// none.
const FieldTable<WhatIfs>& what_if_fields();

nlohmann::json json_of(const WhatIfs& what_ifs);
// Throws std::runtime_error with a sentence on anything missing, unknown or impossible.
WhatIfs read_what_ifs(JsonObject object);

}  // namespace fourfold::inline sim::inline conditions
