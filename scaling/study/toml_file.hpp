// A TOML file as a JSON value, so that what people write is read by the same strict reader as what
// programs write.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fourfold {

// Throws std::runtime_error that names file and line if it is unreadable, no TOML, or has dates.
nlohmann::json read_toml(const std::string& path);

}  // namespace fourfold
