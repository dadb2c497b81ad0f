// fourfold show: the program of one training step.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/output.hpp"
#include "scaling/cli/question_flags.hpp"
#include "schedule/fold/print.hpp"
#include "sim/question/point_json.hpp"

namespace fourfold {

namespace {

// The operations as people read them, by section, with what the step was made of.
std::string program_json(const Model& model, const StepOptions& options) {
  std::istringstream text(print_program(model, options));
  nlohmann::json sections = nlohmann::json::array();
  for (std::string line; std::getline(text, line);) {
    constexpr std::string_view mark = "== ";
    if (line.starts_with(mark)) {
      const std::size_t end = line.rfind(" ==");
      sections.push_back({{"section", line.substr(mark.size(), end - mark.size())},
                          {"operations", nlohmann::json::array()}});
    } else if (!sections.empty() && !line.empty()) {
      sections.back()["operations"].push_back(line.substr(line.find_first_not_of(' ')));
    }
  }
  const nlohmann::json object{
      {"model", json_of(model)}, {"options", json_of(options)}, {"sections", sections}};
  return object.dump() + '\n';
}

}  // namespace

void add_show_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("show", "Print the program of one training step");
  verb->footer("Example:\n  fourfold show --model gpt-5b --overlap oar,ors");
  const auto flags = std::make_shared<QuestionFlags>();
  const auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "print sections and operations as one line of JSON");
  add_model_flags(*verb, *flags);
  // A program names axes, never extents, and is that of one micro-batch.
  for (const char* flag : {"--grid", "--micro-batches"}) {
    verb->remove_option(verb->get_option(flag));
  }
  verb->callback([flags, json, &action] {
    action = [flags, json] {
      const Model model = model_of(*flags);
      const StepOptions options = options_of(*flags);
      print(*json ? program_json(model, options) : print_program(model, options));
      return 0;
    };
  });
}

}  // namespace fourfold
