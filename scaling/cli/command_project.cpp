// fourfold project: one question, answered with a breakdown.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/no_room.hpp"
#include "scaling/cli/question_flags.hpp"
#include "scaling/cli/shown.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/granted.hpp"
#include "scaling/find/idle_flags.hpp"
#include "scaling/find/lost_node.hpp"
#include "scaling/find/needed_factor.hpp"
#include "scaling/find/reruns.hpp"
#include "scaling/find/trace_file.hpp"
#include "scaling/find/what_if_effect.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/records/open_options.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/text/choices_text.hpp"
#include "scaling/text/explanation_text.hpp"
#include "scaling/text/memory_text.hpp"
#include "scaling/text/point_text.hpp"
#include "scaling/text/what_if_text.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/throughput_text.hpp"
#include "support/chrome_trace.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/json_object.hpp"
#include "support/prose.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  QuestionFlags flags;
  bool json = false;
  bool explain = false;
  bool wide = false;
  std::string trace;          // a path; empty: none
  std::string lost_node;      // "17=replaced"; empty: none
  double step_seconds = 0.0;  // of --scale KEY=?; 0: not asked
  std::string memory_figure;  // a path without its ending; empty: none
  std::string width;          // of that
};

DetailWanted detail_of(const Typed& typed) {
  if (!typed.trace.empty()) return DetailWanted::timeline;
  return typed.explain ? DetailWanted::explanation : DetailWanted::none;
}

// Where the grid is searched, so is what nobody typed and no default should decide.
Question asked(const Typed& typed) {
  Question question = question_of(typed.flags);
  if (!question.grid && question.options.trains()) leave_open(question, typed.flags.options);
  return question;
}

// The record, what its what-ifs do, and the simulations beside it that an explanation asks for.
struct Answer {
  Question question;
  Record record;
  std::optional<WhatIfEffect> effect;
  std::optional<Needed> needed;  // of --scale KEY=?
  std::string loss;              // what goes on behind --lost-node
  std::vector<Ideal> reruns;
};

// The key of --scale KEY=?, which is taken out of the flags; empty if there is none.
std::string take_wanted(Typed& typed) {
  std::string key;
  std::erase_if(typed.flags.scales, [&](const std::string& entry) {
    if (!entry.ends_with("=?")) return false;
    if (!key.empty()) throw std::runtime_error("--scale asks for two factors; ask for one");
    key = entry.substr(0, entry.size() - 2);
    return true;
  });
  if (key.empty() && typed.step_seconds > 0.0) {
    throw std::runtime_error(
        "--step-seconds cannot take effect: no --scale KEY=? asks for a factor");
  }
  if (!key.empty() && typed.step_seconds == 0.0) {
    throw std::runtime_error(fmt::format(
        "--scale {}=? asks how fast that must be for which step: add --step-seconds", key));
  }
  return key;
}

std::string loss_text(const LostNode& lost, const ProcessGrid& before, const ProcessGrid& after) {
  if (lost.replaced)
    return fmt::format("Node {} is lost, and a free one takes its place.\n", lost.node);
  return fmt::format("Node {} is lost, and {} of {} replicas go on.\n", lost.node,
                     after.extent(Axis::data), before.extent(Axis::data));
}

Answer answer(Typed typed) {
  constexpr double reruns_share = 0.3;  // of the work, for the time left
  const std::string wanted = take_wanted(typed);
  Question question = asked(typed);
  say_what_is_not_said(typed.flags.model);
  print_notices(read_platform(question.platform, question.scales, question.software));
  const Fidelity fidelity = projected_fidelity_named(typed.flags.fidelity);
  const StoppingRule rule = rule_of(typed.flags);
  const bool more = typed.explain && simulates(fidelity);
  const double share = more ? 1.0 - reruns_share : 1.0;
  Progress progress(1, 1.0);
  progress.begin(question.model.name + " on " + question.platform, 1.0);
  const auto hear = [&](const std::string& activity, double done) {
    progress.update(activity, done * share);
  };
  Answer answer;
  answer.question = question;
  Question before = question;
  if (!wanted.empty()) {
    answer.needed = needed_factor(question, wanted, {typed.step_seconds}, fidelity, rule, hear);
    question.options = answer.needed->options;
    question.variants.clear();
    question.grid = answer.needed->grid;
    question.micro_batches = answer.needed->micro_batches;
    question.scales.try_emplace(wanted, 1.0).first->second *= answer.needed->factor;
  }
  if (!typed.lost_node.empty()) {
    const Finding whole = find_answer(question, fidelity, rule, hear);
    question.options = whole.options;
    question.variants.clear();
    question.micro_batches = whole.best().micro_batches;
    before = without_what_ifs(question);
    before.grid = whole.best().grid;
    const LostNode lost = lost_node_in(typed.lost_node);
    question = after_loss(question, whole.best().grid, lost,
                          read_platform(question.platform, question.scales, question.software));
    answer.loss = loss_text(lost, *before.grid, *question.grid);
  }
  const Finding finding = find_answer(question, fidelity, rule, hear, detail_of(typed));
  answer.record = make_record(question, finding, fidelity, rule);
  answer.effect = typed.lost_node.empty()
                      ? effect_of_what_ifs(question, answer.record, rule, hear)
                      : effect_against(before, question, answer.record, rule, hear);
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

std::string needed_text(const Needed& needed) {
  const double factor = needed.factor;
  return wrapped(fmt::format("{} must be {:.4g} times as fast, if nothing else changes: the step "
                             "takes {} s as the machine is.",
                             needed.key, factor, seconds_text(needed.without))) +
         "\n\n";
}

// The record as JSON, with what was asked besides.
nlohmann::json json_of(const Answer& answer, const Typed& typed) {
  nlohmann::json object = parse_json(to_json(answer.record), "the record");
  if (answer.effect) object["what_if"] = fourfold::json_of(*answer.effect);
  if (!typed.flags.tokens.empty()) {
    object["run"] = json_of_run(answer.record.throughput(), tokens_of(typed.flags));
  }
  object["without_effect"] = idle_flags(answer.record, typed.flags.options);
  if (!answer.question.grid) {
    object["chosen_flags"] = chosen_flags(answer.question, answer.record.point.options);
    object["granted"] = granted_json(answer.record);
  }
  if (answer.needed) {
    object["needed"] = {{"key", answer.needed->key}, {"factor", answer.needed->factor}};
  }
  return object;
}

// What is answered, by what was wanted of it.
std::string answered(const Answer& answer, const Typed& typed) {
  const Point& point = answer.record.point;
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  const MemoryCourse course = memory_course(point, platform);
  const auto series = [&] {
    return estimated_memory(point, platform, static_cast<std::int64_t>(course.fullest));
  };
  if (!typed.memory_figure.empty()) {
    say_line(draw_memory(typed.memory_figure, memory_csv(series()),
                         fmt::format("{} on {}, grid {}, stage {}", point.model.name,
                                     point.platform, point.grid.str(), course.fullest),
                         inches_in("--width", typed.width)));
  }
  if (typed.json) {
    nlohmann::json object = json_of(answer, typed);
    object["memory"] = fourfold::json_of(course, platform);
    if (typed.explain) object["explanation"] = fourfold::json_of(explanation_of(answer));
    return object.dump() + '\n';
  }
  std::string text = (answer.needed ? needed_text(*answer.needed) : "") + answer.loss +
                     point_text(answer.record, answer.effect ? what_if_text(*answer.effect) : "",
                                memory_text(course, platform)) +
                     run_text(answer.record.throughput(), tokens_of(typed.flags));
  text += idle_text(idle_flags(answer.record, typed.flags.options));
  if (!answer.question.grid) text += choices_text(answer.question, answer.record) + '\n';
  if (!typed.explain) return text;
  return text + '\n' +
         explanation_text(explanation_of(answer), typed.wide ? Width::whole : Width::page) + '\n' +
         memory_drawing(series());
}

int project(const Typed& typed, const CLI::App& verb) {
  if (inches_in("--width", typed.width) > 0.0 && typed.memory_figure.empty()) {
    throw std::runtime_error(
        "--width cannot take effect: without --memory-figure no figure is drawn");
  }
  if (typed.wide && !typed.explain) {
    throw std::runtime_error("--wide cannot take effect without --explain");
  }
  if (!typed.trace.empty()) {
    refuse_unwritable(typed.trace);
    refuse_no_trace(typed.trace);
  }
  try {
    const Answer found = answer(typed);
    if (!typed.trace.empty()) say_line(write_trace_of(found.record, typed.trace));
    print(answered(found, typed));
    return status_done;
  } catch (const NoFactor&) {
    throw;
  } catch (const DoesNotFit& no) {
    const auto form = typed.json ? NoAs::json : NoAs::text;
    Typed plain = typed;
    take_wanted(plain);
    return say_no_room(no, asked(plain), verb, form);
  }
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
      "      --jitter 2% --slow-devices 1:0.5+2%:0.9\n"
      "  fourfold project --platform frontier --model gpt-80b --devices 8192 \\\n"
      "      --scale nics=? --step-seconds 12\n"
      "  fourfold project --platform summit --model gpt-12b --devices 48 \\\n"
      "      --batch-tokens 8388608 --system megatron-lm-2021 --fidelity estimated");
  const auto typed = std::make_shared<Typed>();
  verb->add_flag("--explain", typed->explain,
                 "say where the time goes, what each collective costs and what limits the run");
  verb->add_option("--trace", typed->trace,
                   "FILE: write a Chrome/Perfetto trace of a few devices, lane by lane");
  verb->add_option("--memory-figure", typed->memory_figure,
                   "FILE: draw memory over the step by role, as FILE.png, .svg and .pdf");
  add_width_flag(*verb, typed->width);
  add_machine_flags(*verb, typed->flags);
  add_tokens_flag(*verb, typed->flags);
  add_system_flag(*verb, typed->flags);
  add_model_flags(*verb, typed->flags);
  add_phase_flag(*verb, typed->flags);
  say_left_open(*verb);
  add_micro_batch_size_flag(*verb, typed->flags);
  add_what_if_flags(*verb, typed->flags);
  verb->add_option("--lost-node", typed->lost_node,
                   "NODE=replaced: a free node takes its place; NODE=without: the job goes on "
                   "without the replicas that lay on it")
      ->group("What-ifs (the grid is searched without them, but for --collective and --scale)")
      ->check(some_word());
  verb->add_option("--step-seconds", typed->step_seconds,
                   "with --scale KEY=?: how fast must that number or part be for such a step")
      ->check(number(1e-9));
  verb->add_flag("--wide", typed->wide, "print all columns of --explain, however wide");
  verb->add_flag("--json", typed->json, "print the record as one line of JSON");
  verb->callback(
      [typed, verb, &action] { action = [typed, verb] { return project(*typed, *verb); }; });
}

}  // namespace fourfold::inline scaling::inline cli
