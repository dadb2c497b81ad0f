// Shares of one as tables say them in percent, one digit behind the point.
#pragma once

#include <string>

namespace fourfold::inline scaling::inline words {

std::string percent(double share);         // 0.0714: "7.1"
std::string signed_percent(double share);  // 0.0714: "+7.1"

}  // namespace fourfold::inline scaling::inline words
