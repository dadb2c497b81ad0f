// Counts as people of the trade type them: "4M" tokens are 4 x 1024 x 1024.
#pragma once

#include <CLI/App.hpp>

namespace fourfold::inline support {

// For transform(): "4M" becomes 4194304; k, M, G or B, and T are powers of 1024. A number is left
// as it is, and what is neither to the checks behind.
CLI::Validator counts_of_1024();

}  // namespace fourfold::inline support
