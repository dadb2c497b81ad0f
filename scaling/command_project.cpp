// fourfold project and fourfold search: one question, answered with a breakdown or with ten grids.
#include <memory>

#include "scaling/commands.hpp"
#include "scaling/explanation_text.hpp"
#include "scaling/finding.hpp"
#include "scaling/output.hpp"
#include "scaling/point_text.hpp"
#include "scaling/progress.hpp"
#include "scaling/question_flags.hpp"
#include "scaling/trace_file.hpp"

namespace fourfold {
namespace {

struct Typed {
  QuestionFlags flags;
  bool json = false;
  // project only:
  bool explain = false;
  std::string trace;  // a path; empty: none
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

Explanation explanation_of(const Record& record) {
  const Platform platform = read_platform(record.point.platform, record.point.scales);
  const bool simulated = record.fidelity == Fidelity::simulated;
  return explain(record.point, platform, simulated ? std::optional(record.outcome) : std::nullopt);
}

std::string explained(const Record& record, const Typed& typed, std::string text) {
  if (!typed.explain) return text;
  const Explanation explanation = explanation_of(record);
  if (!typed.json) return text + '\n' + explanation_text(explanation);
  nlohmann::json object = nlohmann::json::parse(text);
  object["explanation"] = json_of(explanation);
  return object.dump() + '\n';
}

void add_verb(CLI::App& verb, Action& action, const std::shared_ptr<Typed>& typed,
              std::string (*text)(const Record&)) {
  add_machine_flags(verb, typed->flags);
  add_model_flags(verb, typed->flags);
  add_what_if_flags(verb, typed->flags);
  verb.add_flag("--json", typed->json, "print the record as one line of JSON");
  verb.callback([typed, text, &action] {
    action = [typed, text] {
      if (!typed->trace.empty()) refuse_trace(fidelity_named(typed->flags.fidelity), typed->trace);
      const Record record = answer(typed->flags);
      if (!typed->trace.empty()) write_trace_of(record, typed->trace);
      print(explained(record, *typed, typed->json ? to_json(record) + '\n' : text(record)));
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
      "      --grid 2x8x32x16 --scale network.link_bandwidth_GBps=0.5\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192 --explain\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192 \\\n"
      "      --jitter 2% --slow-devices 1:0.5");
  const auto typed = std::make_shared<Typed>();
  verb->add_flag("--explain", typed->explain,
                 "say where the time goes, what each collective costs and what limits the run");
  verb->add_option("--trace", typed->trace,
                   "FILE: write a Chrome/Perfetto trace, lane by lane (estimated fidelity)");
  add_verb(*verb, action, typed, point_text);
}

void add_search_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("search", "Find the ten best process grids");
  verb->footer(
      "Every grid and micro-batch count that fits is estimated; the best are simulated in order\n"
      "until the next estimate cannot win by the disagreement seen so far.\n\n"
      "Example:\n"
      "  fourfold search --platform frontier --model gpt-320b --devices 32768");
  add_verb(*verb, action, std::make_shared<Typed>(), search_text);
}

}  // namespace fourfold
