// The answer to a question that has no room: one sentence, what is needed, and the commands that
// would have.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "scaling/find/ways_out.hpp"
#include "scaling/records/finding.hpp"
#include "scaling/records/question.hpp"

namespace CLI {
class App;
}

namespace fourfold::inline scaling::inline cli {

// How a way out is typed; the verb's flags must outlive it.
using WayTyped = std::function<std::string(const WayOut&)>;
WayTyped typed_in(const CLI::App& verb);

// What is needed, by role and stage, and the ways out; empty where no room would help.
struct ShortageAnswer {
  std::string text;
  nlohmann::json json;
};
ShortageAnswer shortage_answer(const Question& question, const WayTyped& typed);

enum class NoAs : std::uint8_t { text, json };

// Returns the exit status.
int say_no_room(const DoesNotFit& no, const Question& question, const CLI::App& verb, NoAs form);

}  // namespace fourfold::inline scaling::inline cli
