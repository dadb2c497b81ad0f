// fourfold compare: training systems side by side, each at its best configuration.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/question_flags.hpp"
#include "scaling/records/open_options.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/study.hpp"
#include "scaling/words/machine_name.hpp"
#include "scaling/words/output.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  QuestionFlags flags;
  std::string systems;
  CampaignOrder order;
  bool json = false;
  bool wide = false;
};

// Tables and records tell systems apart by name.
void refuse_same_name(const std::vector<Question>& questions, const std::string& given) {
  const auto name_of = [](const Question& question) { return question.system->name; };
  const std::string& name = questions.back().system->name;
  if (std::ranges::count(questions, name, name_of) < 2) return;
  throw std::runtime_error(fmt::format(
      "--systems: {} is another system called {}; copy it to a file of another name", given, name));
}

// One question a system.
Campaign campaign_of(const Typed& typed) {
  Campaign campaign;
  campaign.fidelity = projected_fidelity_named(typed.flags.fidelity);
  campaign.rule = rule_of(typed.flags);
  say_what_is_not_said(typed.flags.model);
  campaign.tokens = tokens_of(typed.flags);
  std::istringstream list(typed.systems);
  std::vector<std::string> systems;
  for (std::string system; std::getline(list, system, ',');) {
    if (std::ranges::find(systems, system) != systems.end()) {
      throw std::runtime_error("--systems names " + system + " twice");
    }
    systems.push_back(system);
    QuestionFlags flags = typed.flags;
    flags.system = system;
    campaign.questions.push_back(question_of(flags));
    leave_open(campaign.questions.back(), flags.options);
    refuse_same_name(campaign.questions, system);
  }
  if (systems.empty()) {
    throw std::runtime_error("--systems names none; `fourfold systems` lists them");
  }
  const Question& first = campaign.questions.front();
  campaign.name = fmt::format("compare-{}-{}-{}", machine_name(first.platform), first.model.name,
                              first.devices);
  campaign.title = fmt::format("{} on {} devices of {}", first.model.name, first.devices,
                               machine_name(first.platform));
  return campaign;
}

}  // namespace

void add_compare_verb(CLI::App& app, Action& action) {
  const auto typed = std::make_shared<Typed>();
  typed->flags.fidelity = name(Fidelity::estimated);
  CLI::App* verb = app.add_subcommand("compare", "Set training systems side by side");
  verb->footer(
      "Each system is searched in its own space: its grids, all micro-batches, and the orders,\n"
      "chunks and other options that its file names. Printed are its best configuration, seconds\n"
      "with their error bar and what is a tie with the best, MFU and HFU (model flops without and\n"
      "with recompute against the advertised peak), memory and the largest parts of the time; a\n"
      "picture of the parts, the records and a CSV are left in the output folder, and what is "
      "there\n"
      "is kept. Published\n"
      "configurations beside the best ones: scaling/campaigns/summit_weak.toml.\n\n"
      "Example:\n"
      "  fourfold compare --systems axonn-2022,deepspeed-3d,megatron-lm-2021 --platform summit \\\n"
      "      --model gpt-12b --devices 48 --batch-tokens 8388608");
  verb->add_option("--systems", typed->systems,
                   "names (fourfold systems) or files of training systems, between commas")
      ->required();
  add_machine_flags(*verb, typed->flags);
  add_tokens_flag(*verb, typed->flags);
  add_model_flags(*verb, typed->flags);
  say_left_open(*verb, "");
  add_micro_batch_size_flag(*verb, typed->flags);
  add_what_if_flags(*verb, typed->flags);
  verb->add_option("--output", typed->order.output,
                   "folder for results (default results/compare-PLATFORM-MODEL-DEVICES)");
  verb->add_flag("--wide", typed->wide, "print all columns, however wide");
  verb->add_flag("--json", typed->json,
                 "print the records, a line of JSON each, instead of tables");
  verb->callback([typed, &action] {
    action = [typed] {
      if (typed->json) typed->order.answers = Answers::json_granted;
      if (typed->wide) typed->order.width = Width::whole;
      return run_campaign(campaign_of(*typed), typed->order);
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
