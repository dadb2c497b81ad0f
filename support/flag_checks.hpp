// Checks of flags' values that say in words what they must be.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "support/field.hpp"

namespace fourfold {

// Refuses words that are no whole number from `least` to `most`; CLI11 alone takes a number beyond
// 64 bits for the largest.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = most_of_anything);

// Refuses '', which a script gives when its variable is not set.
CLI::Validator some_word();

}  // namespace fourfold
