// fourfold advise: how many devices to ask for, and what they cost.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/no_room.hpp"
#include "scaling/cli/question_flags.hpp"
#include "scaling/find/advice.hpp"
#include "scaling/find/idle_flags.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/records/open_options.hpp"
#include "scaling/text/advice_text.hpp"
#include "scaling/text/memory_text.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/output.hpp"
#include "support/flag_checks.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

constexpr int answer_is_no = 1;

struct Typed {
  QuestionFlags flags;
  std::string devices, tokens, deadline, node_hours;
  std::int64_t restart_minutes = 10;
  bool json = false;
};

AdviceWish wish_of(const Typed& typed) {
  AdviceWish wish;
  wish.tokens = amount_in("--tokens", typed.tokens);
  if (!typed.deadline.empty()) wish.deadline_days = days_in("--deadline", typed.deadline);
  if (!typed.node_hours.empty()) wish.node_hours = amount_in("--node-hours", typed.node_hours);
  wish.restart = {60.0 * static_cast<double>(typed.restart_minutes)};
  wish.fidelity = projected_fidelity_named(typed.flags.fidelity);
  wish.rule = rule_of(typed.flags);
  for (std::int64_t devices : counts_in("--devices", typed.devices)) {
    QuestionFlags flags = typed.flags;
    flags.devices = devices;
    wish.questions.push_back(question_of(flags));
    leave_open(wish.questions.back(), flags.options);
    const Question& question = wish.questions.back();
    const std::int64_t batch = question.global_batch * question.model.sequence;
    if (wish.tokens >= static_cast<double>(batch)) continue;
    throw std::runtime_error(
        fmt::format("--tokens {} are less than one batch, which has {}; train on more, or in "
                    "batches of fewer --batch-tokens",
                    typed.tokens, batch));
  }
  return wish;
}

// Of the devices that are advised.
std::string memory_of(const Advice& advice) {
  const Point& point = advice.options[advice.chosen].record.point;
  return '\n' + memory_text(memory_course(point, advice.platform), advice.platform);
}

int give_advice(const Typed& typed, const CLI::App& verb) {
  const AdviceWish wish = wish_of(typed);
  const Question& first = wish.questions.front();
  say_what_is_not_said(typed.flags.model);
  print_notices(read_platform(first.platform, first.scales, first.software));
  Progress progress(1, 1.0);
  progress.begin(first.model.name + " on " + first.platform, 1.0);
  const Advice advice = advise(
      wish, [&](const std::string& activity, double done) { progress.update(activity, done); });
  if (advice.options.empty()) {
    const Question* asked = &wish.questions.front();  // the largest that the machine has
    for (const Question& question : wish.questions) {
      if (question.devices <= advice.platform.devices()) asked = &question;
    }
    if (!typed.json) {
      return say_no_room(DoesNotFit(advice.reasons()), *asked, verb, NoAs::text);
    }
    nlohmann::json object = json_of(advice);
    object["shortage"] = shortage_answer(*asked, typed_in(verb)).json;
    print(object.dump() + '\n');
    throw DoesNotFit(advice.reasons());
  }
  const auto idle = idle_flags(advice.options[advice.chosen].record, typed.flags.options);
  if (typed.json) {
    nlohmann::json object = json_of(advice);
    object["without_effect"] = idle;
    print(object.dump() + '\n');
  } else {
    print(advice_text(advice) + memory_of(advice) + idle_text(idle));
  }
  return advice.holds ? 0 : answer_is_no;
}

}  // namespace

void add_advise_verb(CLI::App& app, Action& action) {
  const auto typed = std::make_shared<Typed>();
  typed->flags.fidelity = name(Fidelity::estimated);
  CLI::App* verb = app.add_subcommand("advise", "Say how many devices to ask for, and why");
  verb->footer(
      "Every number of devices is answered with its best grid; failures of nodes and checkpoints\n"
      "are counted where the platform says how often a node fails and what its file system "
      "writes.\n"
      "Ends with status 1 if no number of devices meets the deadline and the budget, or nothing "
      "fits.\n\n"
      "Examples:\n"
      "  fourfold advise --platform frontier --model gpt-175b --devices 1024..8192 --tokens 1T\n"
      "  fourfold advise --platform frontier --model gpt-175b --devices 1024..16384 --tokens 1T "
      "\\\n"
      "      --deadline 30d --node-hours 800k --system axonn-4d");
  add_machine_flags(*verb, typed->flags);
  verb->remove_option(verb->get_option("--devices"));
  verb->add_option(
          "--devices", typed->devices,
          "how many to choose from: numbers and ranges, such as 512,1024..8192 (512, 1024, "
          "2048, 4096, 8192)")
      ->required();
  verb->add_option("--tokens", typed->tokens, "to train on: 300B, 1T, 2e12")->required();
  verb->add_option("--deadline", typed->deadline, "the longest the run may take: 30d, 2w, 36h");
  verb->add_option("--node-hours", typed->node_hours, "the most it may cost: 500k, 1.2M");
  verb->add_option("--restart-minutes", typed->restart_minutes,
                   "from a failure until training goes on, without reading the checkpoint")
      ->capture_default_str()
      ->check(whole_number(0, 10'080));
  add_system_flag(*verb, typed->flags);
  add_model_flags(*verb, typed->flags);
  say_left_open(*verb, "");
  add_micro_batch_size_flag(*verb, typed->flags);
  verb->add_flag("--json", typed->json, "print the advice as one line of JSON");
  verb->callback(
      [typed, verb, &action] { action = [typed, verb] { return give_advice(*typed, *verb); }; });
}

}  // namespace fourfold::inline scaling::inline cli
