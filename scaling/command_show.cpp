// fourfold show: the program of one training step.
#include <memory>

#include "scaling/commands.hpp"
#include "scaling/output.hpp"
#include "scaling/question_flags.hpp"
#include "schedule/print.hpp"

namespace fourfold {

void add_show_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("show", "Print the program of one training step");
  verb->footer("Example:\n  fourfold show --model gpt-5b --micro-batches 2 --overlap oar,ors");
  const auto flags = std::make_shared<QuestionFlags>();
  add_model_flags(*verb, *flags);
  verb->remove_option(verb->get_option("--grid"));  // a program names axes, never extents
  verb->callback([flags, &action] {
    action = [flags] {
      print(print_program(model_of(*flags), options_of(*flags)));
      return 0;
    };
  });
}

}  // namespace fourfold
