// A length of time as a clock shows it, for people who wait.
#pragma once

#include <string>

namespace fourfold::inline support {

// "0:07", "2:45", "1:02:03", to the nearest second; "?" below zero, which is a time not known.
std::string clock_text(double seconds);

}  // namespace fourfold::inline support
