// fourfold show: the program of one training step, and pictures of the orders of pipelines.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/question_flags.hpp"
#include "scaling/find/idle_flags.hpp"
#include "scaling/text/order_drawing.hpp"
#include "scaling/words/output.hpp"
#include "schedule/fold/print.hpp"
#include "sim/explain/order_chart.hpp"
#include "sim/question/point_json.hpp"
#include "support/flag_checks.hpp"
#include "support/prose.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {

namespace {

// The operations as people read them, by section, with what the step was made of.
std::string program_json(const Model& model, const StepOptions& options,
                         const std::vector<std::string>& idle) {
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
  const nlohmann::json object{{"model", json_of(model)},
                              {"options", json_of(options)},
                              {"sections", sections},
                              {"without_effect", idle}};
  return object.dump() + '\n';
}

struct OrderFlags {
  QuestionFlags question;
  std::int64_t stages = 0;
  std::vector<double> times{1.0, 1.0, 1.0};
  std::string svg;
};

// Of the point that is asked for, or of equal layers.
OrderChart chart_of(const OrderFlags& typed, const StepOptions& options) {
  const QuestionFlags& flags = typed.question;
  if (flags.platform.empty()) {
    if (typed.stages == 0) throw std::runtime_error("--stages is required, or a --platform");
    return chart_of(options, typed.stages, {{typed.times[0]}, {typed.times[1]}, {typed.times[2]}});
  }
  if (flags.model.empty() || flags.grid.empty() || typed.stages != 0) {
    throw std::runtime_error(
        "an order on a --platform is that of a --model on a --grid, which says how many stages");
  }
  Point point;
  point.platform = flags.platform;
  point.model = model_of(flags);
  point.grid = ProcessGrid::parse(flags.grid);
  point.options = options;
  point.global_batch = sequences_of(flags, point.model);
  point.software = flags.software;
  return chart_of(point, read_platform(flags.platform, {}, flags.software));
}

void refuse_without_effect(const CLI::App& verb, bool on_platform) {
  constexpr std::array<std::string_view, 7> of_equal_layers{
      "--stages", "--times", "--svg", "--micro-batches", "--order", "--chunks", "--pipeline-limit"};
  for (const CLI::Option* option : verb.get_options()) {
    const std::string flag = option->get_name();
    const bool takes_effect =
        on_platform ? flag != "--times" : std::ranges::count(of_equal_layers, flag) > 0;
    if (option->count() == 0 || takes_effect) continue;
    throw std::runtime_error(fmt::format("{} cannot take effect: {}", flag,
                                         on_platform
                                             ? "on a --platform layers take as long as it says"
                                             : "without --platform all layers are drawn alike"));
  }
}

void draw_order(const OrderFlags& typed) {
  const StepOptions options = options_of(typed.question);
  if (!typed.question.micro_batches()) throw std::runtime_error("--micro-batches is required");
  if (options.micro_batches > most_drawn_micro_batches) {
    throw std::runtime_error(fmt::format("a picture of more than {} micro-batches cannot be read",
                                         most_drawn_micro_batches));
  }
  if (!typed.svg.empty()) refuse_unwritable(typed.svg);
  const OrderChart chart = chart_of(typed, options);
  const std::string title =
      fmt::format("{} on {}, {}: waits {:.1f} % of the time it works", name(options.order),
                  counted(static_cast<std::int64_t>(chart.stages.size()), "stage"),
                  counted(options.micro_batches, "micro-batch"), 100.0 * chart.idle_share());
  print(title + "\n\n" + order_text(chart));
  if (!typed.svg.empty()) write_whole_file(typed.svg, order_svg(chart, title));
}

void add_order_verb(CLI::App& show, Action& action) {
  const auto typed = std::make_shared<OrderFlags>();
  CLI::App* verb = show.add_subcommand("order", "Draw the order of a pipeline, stage against time");
  verb->footer(
      "F is a forward, B a backward or its input gradient, W a weight gradient.\n\n"
      "Examples:\n"
      "  fourfold show order --stages 4 --micro-batches 8 --order zero-bubble --svg order.svg\n"
      "  fourfold show order --platform perlmutter --model gpt-20b --grid x=4,data=4,pipe=8 \\\n"
      "    --micro-batches 16");
  add_model_flags(*verb, typed->question);
  verb->remove_option(verb->get_option("--stages"));
  verb->get_option("--model")->required(false);
  verb->get_option("--grid")->description("process grid, on a platform");
  verb->add_option("--stages", typed->stages, "of a pipeline of equal layers")
      ->check(whole_number(1));
  verb->add_option("--times", typed->times,
                   "of equal layers: a forward, an input gradient, a weight gradient")
      ->delimiter(',')
      ->expected(3)
      ->check(number(1e-9))
      ->default_str("1,1,1");
  verb->add_option("--platform", typed->question.platform,
                   "machine whose times are drawn: a name (fourfold platforms) or a file");
  verb->add_option("--software", typed->question.software,
                   "on a platform: a name (fourfold software) or a file; the machine's if absent");
  add_batch_flags(*verb, typed->question);
  verb->add_option("--svg", typed->svg, "FILE: write the picture as SVG, too");
  verb->callback([verb, typed, &action] {
    action = [verb, typed] {
      refuse_without_effect(*verb, !typed->question.platform.empty());
      draw_order(*typed);
      return 0;
    };
  });
}

}  // namespace

void add_show_verb(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("show", "Print the program of one training step, or of another phase");
  verb->footer(
      "Examples:\n"
      "  fourfold show --model gpt-5b --overlap oar,ors\n"
      "  fourfold show --model llama3.1-8b --phase decode");
  const auto flags = std::make_shared<QuestionFlags>();
  const auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "print sections and operations as one line of JSON");
  add_model_flags(*verb, *flags);
  add_phase_flag(*verb, *flags);
  verb->get_option("--model")->required(false);
  add_order_verb(*verb, action);
  // A program names axes, never extents, and is that of one micro-batch on one stage.
  for (const char* flag :
       {"--grid", "--stages", "--micro-batches", "--rank-order", "--order", "--chunks",
        "--pipeline-limit", "--layers-per-stage", "--cut-messages"}) {
    verb->remove_option(verb->get_option(flag));
  }
  verb->callback([verb, flags, json, &action] {
    if (!verb->get_subcommands().empty()) return;
    if (flags->model.empty()) throw CLI::RequiredError("--model");
    action = [flags, json] {
      say_what_is_not_said(flags->model);
      const Model model = model_of(*flags);
      const StepOptions options = options_of(*flags);
      const std::vector<std::string> idle = idle_flags(model, options, flags->options);
      print(*json ? program_json(model, options, idle)
                  : print_program(model, options) + idle_text(idle, "program"));
      return 0;
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
