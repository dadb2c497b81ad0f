// Amounts as people type and read them: "1.5T", "30d", "1024..8192", "0.00352 s".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline words {

// All throw std::runtime_error with a sentence that starts with the flag.

// A number above 0, with k, M, B (or G) or T behind it for 1e3, 1e6, 1e9 and 1e12.
double amount_in(const std::string& flag, const std::string& word);

// Days in "30d", "2w" or "36h".
double days_in(const std::string& flag, const std::string& word);

// Inches in "3.5in" or "9cm", from 1 to 40; 0 of an empty word.
double inches_in(const std::string& flag, const std::string& word);

// Numbers and ranges, such as "512,1024..8192": a range is 1024 and its doublings up to 8192, and
// 8192. Ascending, each once.
std::vector<std::int64_t> counts_in(const std::string& flag, const std::string& word);

// Seconds without their unit: three decimals, and more where `beside`, what they are read beside,
// would have fewer than three digits. A step of decoding takes milliseconds.
std::string seconds_text(Seconds seconds, Seconds beside);
inline std::string seconds_text(Seconds seconds) {
  return seconds_text(seconds, seconds);
}

}  // namespace fourfold::inline scaling::inline words
