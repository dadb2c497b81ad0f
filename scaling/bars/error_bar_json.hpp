// An error bar as JSON, in records and in answers of a search over strategies.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scaling/bars/error_bar.hpp"

namespace fourfold::inline scaling::inline bars {

// Its seconds are of an answer of so many; they follow from the shares and are not read.
nlohmann::json json_of(const ErrorBar& bar, Seconds projected);
// Throws std::runtime_error with a sentence.
ErrorBar read_error_bar(const nlohmann::json& value);

}  // namespace fourfold::inline scaling::inline bars
