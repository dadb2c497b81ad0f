// Checks of flags' values that say in words what they must be.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/field.hpp"

namespace fourfold::inline support {

// Refuses words that are no whole number from `least` to `most`; CLI11 alone takes a number beyond
// 64 bits for the largest.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = most_of_anything);

// Refuses words that are no number from `least` to `most`: also nan and inf.
CLI::Validator number(double least, double most = std::numeric_limits<double>::max());

// Refuses '', which a script gives when its variable is not set.
CLI::Validator some_word();

// Puts the checks that every value stands on every option of the verb and of those below it: some
// word, and where CLI11 would read a number, a whole one of 63 bits or a finite one. Call when all
// are added.
void check_all_values(CLI::App& verb);

// The first word that is not UTF-8, as a sentence; empty if all are. Records, plans and logs are
// JSON, which has no other letters.
std::string stray_bytes(const std::vector<std::string>& words);

}  // namespace fourfold::inline support
