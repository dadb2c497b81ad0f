// fourfold project: one question, answered with a breakdown.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/question_flags.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/reruns.hpp"
#include "scaling/find/trace_file.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/text/explanation_text.hpp"
#include "scaling/text/point_text.hpp"
#include "scaling/words/output.hpp"
#include "support/json_object.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  QuestionFlags flags;
  bool json = false;
  bool explain = false;
  bool wide = false;
  std::string trace;  // a path; empty: none
};

DetailWanted detail_of(const Typed& typed) {
  if (!typed.trace.empty()) return DetailWanted::timeline;
  return typed.explain ? DetailWanted::explanation : DetailWanted::none;
}

// The record, and the simulations beside it that an explanation asks for.
struct Answer {
  Record record;
  std::vector<Ideal> reruns;
};

Answer answer(const Typed& typed) {
  constexpr double reruns_share = 0.3;  // of the work, for the time left
  const Question question = question_of(typed.flags);
  print_notices(read_platform(question.platform, question.scales, question.software));
  const Fidelity fidelity = projected_fidelity_named(typed.flags.fidelity);
  const StoppingRule rule = rule_of(typed.flags);
  const bool more = typed.explain && simulates(fidelity);
  const double share = more ? 1.0 - reruns_share : 1.0;
  Progress progress(1, 1.0);
  progress.begin(question.model.name + " on " + question.platform, 1.0);
  const Finding finding = find_answer(
      question, fidelity, rule,
      [&](const std::string& activity, double done) { progress.update(activity, done * share); },
      detail_of(typed));
  Answer answer{make_record(question, finding, fidelity, rule), {}};
  if (more) {
    answer.reruns = rerun(answer.record, [&](const std::string& activity, double done) {
      progress.update(activity, share + done * reruns_share);
    });
  }
  return answer;
}

Explanation explanation_of(const Answer& answer) {
  const Record& record = answer.record;
  const Platform platform =
      read_platform(record.point.platform, record.point.scales, record.point.software);
  if (!simulates(record.fidelity)) return explain_step(record.point, platform, std::nullopt);
  return explain_step(record.point, platform,
                      Simulated{record.outcome, record.replay->detail, answer.reruns});
}

std::string explained(const Answer& answer, const Typed& typed, std::string text) {
  if (!typed.explain) return text;
  const Explanation explanation = explanation_of(answer);
  if (!typed.json)
    return text + '\n' + explanation_text(explanation, typed.wide ? Width::whole : Width::page);
  nlohmann::json object = parse_json(text, "the record");
  object["explanation"] = json_of(explanation);
  return object.dump() + '\n';
}

}  // namespace

void add_project_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("project", "Project one point, with its breakdown");
  verb->footer(
      "The error bar is where a run would lie, by runs like it that were measured and by "
      "unconfirmed\n"
      "numbers of the platform (docs/accuracy.md). MFU counts model flops without recompute\n"
      "(Narayanan et al. SC21 eq. 3) against the advertised peak, HFU with it.\n\n"
      "Examples:\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192\n"
      "  fourfold project --platform alps --model gpt-60b --devices 6144 --vocabulary 32000 \\\n"
      "      --fidelity estimated --overlap none\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192 \\\n"
      "      --grid 2x8x32x16 --scale network.link_bandwidth_GBps=0.5\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192 --explain\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192 \\\n"
      "      --jitter 2% --slow-devices 1:0.5\n"
      "  fourfold project --platform summit --model gpt-12b --devices 48 \\\n"
      "      --batch-tokens 8388608 --system megatron-lm-2021 --fidelity estimated");
  const auto typed = std::make_shared<Typed>();
  verb->add_flag("--explain", typed->explain,
                 "say where the time goes, what each collective costs and what limits the run");
  verb->add_option("--trace", typed->trace,
                   "FILE: write a Chrome/Perfetto trace of a few devices, lane by lane");
  add_machine_flags(*verb, typed->flags);
  add_system_flag(*verb, typed->flags);
  add_model_flags(*verb, typed->flags);
  add_what_if_flags(*verb, typed->flags);
  verb->add_flag("--wide", typed->wide, "print all columns of --explain, however wide");
  verb->add_flag("--json", typed->json, "print the record as one line of JSON");
  verb->callback([typed, &action] {
    action = [typed] {
      if (!typed->trace.empty()) refuse_unwritable(typed->trace);
      const Answer found = answer(*typed);
      const Record& record = found.record;
      if (!typed->trace.empty()) write_trace_of(record, typed->trace);
      print(explained(found, *typed, typed->json ? to_json(record) + '\n' : point_text(record)));
      return 0;
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
