// fourfold search: the best process grids of a question, or the best of whole strategies.

#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/no_room.hpp"
#include "scaling/cli/shown.hpp"
#include "scaling/cli/strategy_flags.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/granted.hpp"
#include "scaling/find/idle_flags.hpp"
#include "scaling/find/strategy_finding.hpp"
#include "scaling/find/what_if_effect.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/records/open_options.hpp"
#include "scaling/records/record_json.hpp"
#include "scaling/text/choices_text.hpp"
#include "scaling/text/memory_text.hpp"
#include "scaling/text/point_text.hpp"
#include "scaling/text/strategy_results.hpp"
#include "scaling/text/strategy_text.hpp"
#include "scaling/text/what_if_text.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/throughput_text.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  StrategyFlags flags;
  bool json = false;
  bool influence = false;
  bool wide = false;
  std::int64_t best = 10;
  std::string output;  // a folder; empty: results/NAME for a file, else none
  std::string grids_by = name(GridsBy::estimate);
  std::string width;  // of the figure of --influence
};

// What a choice of grids leaves nothing to do for, and the other way round.
void refuse_idle(const Typed& typed, const Question& question) {
  const QuestionFlags& flags = typed.flags.question;
  if (typed.grids_by == name(GridsBy::estimate)) return;
  if (question.grid) {
    throw std::runtime_error("--grids-by cannot take effect: --grid says which one");
  }
  if (!flags.stages.empty()) {
    throw std::runtime_error("--stages cannot take effect: --grids-by knows no pipelines");
  }
  if (flags.at_most_grids > 0) {
    throw std::runtime_error(
        "--at-most-grids cannot take effect: all that --grids-by chooses are simulated");
  }
}

// As `project` asks without a grid. What chooses grids by the published model is as published.
Question asked(const Typed& typed) {
  const QuestionFlags flags = question_flags(typed.flags);
  Question question = question_of(flags);
  ask_for_grids_by(question, typed.grids_by);
  if (question.grids_by == GridsBy::estimate && !question.grid) {
    leave_open(question, flags.options);
  }
  return question;
}

int search_grids(const Typed& typed, const CLI::App& verb) try {
  const QuestionFlags flags = question_flags(typed.flags);
  const Question question = asked(typed);
  refuse_idle(typed, question);
  say_what_is_not_said(flags.model);
  print_notices(read_platform(question.platform, question.scales, question.software));
  const Fidelity fidelity = projected_fidelity_named(flags.fidelity);
  const StoppingRule rule = rule_of(flags);
  Progress progress(1, 1.0);
  progress.begin(question.model.name + " on " + question.platform, 1.0);
  const Finding finding = find_answer(
      question, fidelity, rule,
      [&](const std::string& activity, double done) { progress.update(activity, done); });
  const Record record = make_record(question, finding, fidelity, rule);
  const std::optional<WhatIfEffect> effect = effect_of_what_ifs(
      question, record, rule,
      [&](const std::string& activity, double done) { progress.update(activity, done); });
  if (!typed.json) {
    const Platform platform = read_platform(question.platform, question.scales, question.software);
    print(search_text(record, effect ? what_if_text(*effect) : "",
                      memory_text(memory_course(record.point, platform), platform)) +
          idle_text(idle_flags(record, flags.options)) +
          (question.grid ? "" : choices_text(question, record) + '\n') +
          run_text(record.throughput(), tokens_of(flags)));
    return status_done;
  }
  nlohmann::json object = parse_json(to_json(record), "the record");
  if (effect) object["what_if"] = json_of(*effect);
  object["without_effect"] = idle_flags(record, flags.options);
  if (!question.grid) {
    object["chosen_flags"] = chosen_flags(question, record.point.options);
    object["granted"] = granted_json(record);
  }
  if (!flags.tokens.empty()) object["run"] = json_of_run(record.throughput(), tokens_of(flags));
  print(object.dump() + '\n');
  return status_done;
} catch (const DoesNotFit& no) {
  return say_no_room(no, asked(typed), verb, typed.json ? NoAs::json : NoAs::text);
}

std::string folder_of(const Typed& typed) {
  if (!typed.output.empty() || typed.flags.file.empty()) return typed.output;
  return "results/" + std::filesystem::path(typed.flags.file).stem().string();
}

// Of a space in which nothing fits: of its strategy that needs least memory.
WayTyped typed_as_project(const StrategyFinding& finding) {
  return [&finding](const WayOut& way) {
    return project_command(finding.question, *finding.answer.closest, way.flags);
  };
}

Throughput throughput_of_first(const StrategyFinding& finding) {
  const Strategy& best = finding.answer.best.front();
  return throughput(point_of(finding.question, best), best.seconds,
                    finding.platform.processor.advertised_peak);
}

// What stands below the answer, and the same as entries of its JSON.
struct Further {
  std::string text;
  nlohmann::json entries = nlohmann::json::object();
};

// The ways out where nothing fits, else the run of so many tokens; 0: nobody says how many.
Further further_of(const StrategyFinding& finding, double tokens) {
  Further further;
  if (finding.answer.feasible == 0 && finding.answer.closest) {
    const ShortageAnswer shortage = shortage_answer(
        question_of(finding.question, *finding.answer.closest), typed_as_project(finding));
    further.text += '\n' + shortage.text;
    further.entries["shortage"] = shortage.json;
  }
  if (tokens > 0.0 && !finding.answer.best.empty()) {
    const Throughput first = throughput_of_first(finding);
    further.text += "\nThe first of them: " + run_text(first, tokens);
    further.entries["run"] = json_of_run(first, tokens);
  }
  return further;
}

std::string with_entries(const std::string& answer, const nlohmann::json& entries) {
  if (entries.empty()) return answer;
  nlohmann::json object = parse_json(answer, "the answer");
  object.update(entries);
  return object.dump();
}

int search_whole_strategies(const Typed& typed, const CLI::App& verb) {
  const double width_in = inches_in("--width", typed.width);
  const StrategyQuestion question = strategy_question(typed.flags, verb);
  const Point& pattern = question.pattern;
  say_what_is_not_said(typed.flags.question.model);
  print_notices(read_platform(pattern.platform, pattern.scales, pattern.software));
  Progress progress(1, 1.0);
  progress.begin(pattern.model.name + " on " + pattern.platform, 1.0);
  const StrategyWish wish{static_cast<std::size_t>(typed.best),
                          typed.influence ? Thoroughness::all : Thoroughness::best};
  const StrategyFinding finding = find_strategies(
      question, wish,
      [&](const std::string& activity, double done) { progress.update(activity, done); });
  const Further further = further_of(finding, tokens_of(typed.flags.question));
  const auto text = [&](Width width) { return strategy_text(finding, width) + further.text; };
  const auto json = [&] { return with_entries(to_json(finding), further.entries); };
  print(typed.json ? json() + '\n' : text(typed.wide ? Width::whole : Width::page));
  const std::string folder = folder_of(typed);
  if (!folder.empty()) {
    say_line(write_strategies(finding, {text(Width::whole), json()}, folder, width_in));
  }
  return finding.answer.feasible == 0 ? status_no : status_done;
}

}  // namespace

void add_search_verb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("search", "Find the best process grids, or whole strategies");
  verb->footer(
      "Every grid and micro-batch count that fits is estimated; the best are simulated in order\n"
      "until the next estimate cannot win by the disagreement seen so far.\n"
      "Where an option of the step is a list, every combination is estimated as well; the answer\n"
      "says why the others cannot run and by how much, and with --influence how much each choice\n"
      "matters: the Shapley shares of the variance of flop/s a device (docs/search.md).\n\n"
      "Examples:\n"
      "  fourfold search --platform frontier --model gpt-320b --devices 32768\n"
      "  fourfold search --platform frontier --model gpt-22b --devices 64 --stages all \\\n"
      "      --order 1f1b,interleaved --chunks 1,2,4 --zero 0,1 --recompute full,none\n"
      "  fourfold search --platform frontier --model gpt-22b --nodes 8,16 --influence \\\n"
      "      --grid x=1,2,4,8,pipe=1,2,4,8 --micro-batch-size 1-4 --micro-batches 16,32\n"
      "  fourfold search --space scaling/campaigns/ornl_175b_space.toml --influence");
  const auto typed = std::make_shared<Typed>();
  add_strategy_flags(*verb, typed->flags);
  say_left_open(*verb);
  verb->add_flag("--influence", typed->influence,
                 "say how much each choice of the space matters, as a table and in --json");
  verb->add_option("--best", typed->best, "strategies that are shown")
      ->capture_default_str()
      ->check(whole_number(1, 10'000));
  verb->add_option("--output", typed->output,
                   "folder for table, JSON and, with --influence, CSV and plot of strategies "
                   "(default with --space: results/NAME)");
  verb->add_option("--grids-by", typed->grids_by,
                   "which grids are looked at: all, best estimates first (estimate), or the first "
                   "ten by the communication model of SC24 as its authors' scripts code it, all "
                   "of them simulated (sc24-model; perlmutter and frontier)")
      ->capture_default_str();
  add_width_flag(*verb, typed->width);
  verb->add_flag("--wide", typed->wide, "print all columns of strategies, however wide");
  verb->add_flag("--json", typed->json, "print the answer as one line of JSON");
  verb->callback([typed, verb, &action] {
    action = [typed, verb] {
      const bool by_estimate = typed->grids_by == name(GridsBy::estimate);
      if (!typed->width.empty() && !typed->influence) {
        throw std::runtime_error(
            "--width cannot take effect: without --influence no figure is drawn");
      }
      if (!typed->width.empty() && folder_of(*typed).empty()) {
        throw std::runtime_error("--width cannot take effect: without --output no figure is drawn");
      }
      const bool open = typed->flags.open() || typed->influence || !typed->output.empty();
      if (open && !by_estimate) {
        throw std::runtime_error(
            "--grids-by cannot take effect: whole strategies are searched by estimate");
      }
      if (!open && verb->count("--best") > 0) {
        throw std::runtime_error(
            "--best cannot take effect: without a list of choices the ten best grids are shown; "
            "--influence or --output make it a search of strategies");
      }
      if (!open && typed->wide) {
        throw std::runtime_error(
            "--wide cannot take effect: the table of grids always has all its columns");
      }
      return open ? search_whole_strategies(*typed, *verb) : search_grids(*typed, *verb);
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
