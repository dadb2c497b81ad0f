// A shortage as text and as JSON; see no_room.hpp.
#include "scaling/cli/no_room.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "platforms/device_memory.hpp"
#include "scaling/text/memory_text.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/output.hpp"
#include "sim/question/point_json.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/plain_sentence.hpp"
#include "support/prose.hpp"
#include "support/shell_word.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

std::string place(const Candidate& found) {
  return fmt::format("grid {}, {}", found.grid.str(), counted(found.micro_batches, "micro-batch"));
}

std::string text_of(const Shortage& shortage, const Platform& platform, const WayTyped& typed) {
  std::string text = fmt::format("Of what was asked for, {} needs least:\n", place(shortage.found));
  text += memory_text(memory_course(shortage.point, platform), platform);
  text += fmt::format("It would take {} s a batch, if it fitted.\n\n",
                      seconds_text(shortage.found.estimate.outcome.total));
  if (shortage.ways.empty()) return text + "No change that was tried makes it fit.\n";
  text += "Ways out, fewest device-seconds first:\n";
  for (const WayOut& way : shortage.ways) {
    const Estimate& estimate = way.found.estimate;
    text += wrapped(fmt::format("* {}: {} s a batch on {}, {:.1f} GB: {}.", way.what,
                                seconds_text(estimate.outcome.total),
                                counted(way.found.grid.size(), "device"),
                                estimate.memory.peak.value / 1e9, fits_text(way.chance))) +
            "\n  " + typed(way) + '\n';
  }
  return text;
}

nlohmann::json json_of(const Shortage& shortage, const Platform& platform, const WayTyped& typed) {
  nlohmann::json ways = nlohmann::json::array();
  for (const WayOut& way : shortage.ways) {
    ways.push_back({{"what", way.what},
                    {"command", typed(way)},
                    {"grid", way.found.grid.str()},
                    {"micro_batches", way.found.micro_batches},
                    {"devices", way.found.grid.size()},
                    {"estimated_s", way.found.estimate.outcome.total.value},
                    {"memory_B", way.found.estimate.memory.peak.value},
                    {"chance_to_fit", way.chance},
                    {"fits", fits_in_words(way.chance)}});
  }
  return {{"point", fourfold::json_of(shortage.point)},
          {"estimated_s", shortage.found.estimate.outcome.total.value},
          {"memory", fourfold::json_of(memory_course(shortage.point, platform), platform)},
          {"ways_out", ways}};
}

// The command that was typed with other words for these flags; a flag without a word is left out.
std::string typed_again(const CLI::App& verb, const std::map<std::string, std::string>& instead) {
  std::string text = "fourfold " + verb.get_name();
  for (const CLI::Option* option : verb.get_options()) {
    const std::string flag = option->get_name();
    const bool of_output = flag == "--json" || flag == "--trace";
    if (option->count() == 0 || of_output || instead.contains(flag)) continue;
    if (option->get_expected_max() == 0) {
      text += ' ' + flag;
      continue;
    }
    for (const std::string& word : option->results()) {
      text += fmt::format(" {} {}", flag, shell_argument(word));
    }
  }
  for (const auto& [flag, word] : instead) {
    if (!word.empty()) text += fmt::format(" {} {}", flag, shell_argument(word));
  }
  return text;
}

}  // namespace

// The size of micro-batches is another on other grids: their number is typed instead.
WayTyped typed_in(const CLI::App& verb) {
  return [&verb](const WayOut& way) {
    std::map<std::string, std::string> flags = way.flags;
    const CLI::Option* size = verb.get_option_no_throw("--micro-batch-size");
    if (size != nullptr && size->count() > 0) {
      flags["--micro-batch-size"] = "";
      flags["--micro-batches"] = std::to_string(way.found.micro_batches);
    }
    return typed_again(verb, flags);
  };
}

ShortageAnswer shortage_answer(const Question& question, const WayTyped& typed) {
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  const std::optional<Shortage> found = shortage(question, platform);
  if (!found) return {"", nlohmann::json::object()};
  return {text_of(*found, platform, typed), json_of(*found, platform, typed)};
}

int say_no_room(const DoesNotFit& no, const Question& question, const CLI::App& verb, NoAs form) {
  const int status = complain(no, status_no);
  if (form == NoAs::text) {
    print(shortage_answer(question, typed_in(verb)).text);
    return status;
  }
  nlohmann::json object{{"format", "fourfold-shortage-1"}, {"answer", plain_sentence(no)}};
  object.update(shortage_answer(question, typed_in(verb)).json);
  print(object.dump() + '\n');
  return status;
}

}  // namespace fourfold::inline scaling::inline cli
