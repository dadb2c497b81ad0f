// Fields as flags of a command line.
#pragma once

#include <string>
#include <vector>

#include "support/field.hpp"

namespace CLI {
class App;
}

namespace fourfold::inline support {

// Adds the flags of a table under a title of the help, with what `usual` says as their defaults.
// What is typed goes to `typed`, which outlives the verb's parsing; it throws std::runtime_error
// with a sentence on words that are not known.
void add_field_flags(CLI::App& verb, const std::string& title,
                     const std::vector<FieldFacts>& fields, const FieldValues& usual,
                     FieldValues& typed);

}  // namespace fourfold::inline support
