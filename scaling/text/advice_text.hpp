// Advice in plain words with numbers, on one screen.
#pragma once

#include <string>

#include "scaling/find/advice.hpp"

namespace fourfold::inline scaling::inline text {

// Of advice with options.
std::string advice_text(const Advice& advice);

}  // namespace fourfold::inline scaling::inline text
