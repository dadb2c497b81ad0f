// Fields as JSON: records and points, and TOML that has become JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "support/field.hpp"

namespace fourfold::inline support {

class JsonObject;

nlohmann::json json_of_values(const FieldValues& values);
// In the order of the table.
nlohmann::ordered_json ordered_json_of(const std::vector<FieldFacts>& fields,
                                       const FieldValues& values);

// These read an object that has keys of the table only, one with all that are not optional, the
// other with any. Both throw std::runtime_error with a sentence on what is unknown or impossible.
FieldValues read_fields(JsonObject object, const std::vector<FieldFacts>& fields);
FieldValues read_given_fields(JsonObject object, const std::vector<FieldFacts>& fields);

}  // namespace fourfold::inline support
