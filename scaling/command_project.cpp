// fourfold project and fourfold search: one question, answered with a breakdown or with ten grids.
#include <memory>

#include "scaling/commands.hpp"
#include "scaling/finding.hpp"
#include "scaling/output.hpp"
#include "scaling/point_text.hpp"
#include "scaling/progress.hpp"
#include "scaling/question_flags.hpp"

namespace fourfold {
namespace {

struct Typed {
  QuestionFlags flags;
  bool json = false;
};

Record answer(const QuestionFlags& flags) {
  const Question question = question_of(flags);
  const Fidelity fidelity = fidelity_named(flags.fidelity);
  const StoppingRule rule = rule_of(flags);
  Progress progress(1, 1.0);
  progress.begin(question.model.name + " on " + question.platform, 1.0);
  const Finding finding =
      find(question, fidelity, rule,
           [&](const std::string& activity, double done) { progress.update(activity, done); });
  return make_record(question, finding, fidelity, rule);
}

void add_verb(CLI::App& verb, Action& action, std::string (*text)(const Record&)) {
  const auto typed = std::make_shared<Typed>();
  add_machine_flags(verb, typed->flags);
  add_model_flags(verb, typed->flags);
  verb.add_flag("--json", typed->json, "print the record as one line of JSON");
  verb.callback([typed, text, &action] {
    action = [typed, text] {
      const Record record = answer(typed->flags);
      print(typed->json ? to_json(record) + '\n' : text(record));
      return 0;
    };
  });
}

}  // namespace

void add_project_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("project", "Project one point, with its breakdown");
  verb->footer(
      "Examples:\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192\n"
      "  fourfold project --platform alps --model gpt-60b --devices 6144 --vocabulary 32000 \\\n"
      "      --fidelity estimated --overlap none\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192 \\\n"
      "      --grid 2x8x32x16 --scale network.link_bandwidth_GBps=0.5");
  add_verb(*verb, action, point_text);
}

void add_search_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("search", "Find the ten best process grids");
  verb->footer(
      "Every grid and micro-batch count that fits is estimated; the best are simulated in order\n"
      "until the next estimate cannot win by the disagreement seen so far.\n\n"
      "Example:\n"
      "  fourfold search --platform frontier --model gpt-320b --devices 32768");
  add_verb(*verb, action, search_text);
}

}  // namespace fourfold
