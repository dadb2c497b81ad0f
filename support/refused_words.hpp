// What a command line hears that cannot be read: one sentence, in words of people, not of CLI11.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace fourfold::inline support {

// The innermost verb that was typed.
const CLI::App& typed_verb(const CLI::App& app);

// Why the words were refused: the first that nobody knows, with the nearest known one, or else what
// `error` says.
std::string sentence_of(const CLI::App& app, const CLI::ParseError& error);

}  // namespace fourfold::inline support
