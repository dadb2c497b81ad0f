// What what-ifs did, as a paragraph and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scaling/find/what_if_effect.hpp"

namespace fourfold::inline scaling::inline text {

std::string what_if_text(const WhatIfEffect& effect);
nlohmann::json json_of(const WhatIfEffect& effect);

}  // namespace fourfold::inline scaling::inline text
