// fourfold campaign run FILE.
#include <CLI/CLI.hpp>
#include <memory>

#include "scaling/cli/commands.hpp"
#include "scaling/study/campaign_run.hpp"

namespace fourfold {

void add_campaign_verb(CLI::App& app, Action& action) {
  struct Typed {
    CampaignOrder order;
    std::string fidelity;
    bool fresh = false;
    bool json = false;
    bool wide = false;
  };
  const auto typed = std::make_shared<Typed>();
  CLI::App* campaign = app.add_subcommand("campaign", "Answer all points of a campaign file");
  campaign->footer("Example:\n  fourfold campaign run scaling/campaigns/sc24_weak.toml");
  CLI::App* run = campaign->add_subcommand("run", "Run a campaign, or go on with it");
  run->footer(
      "Points that FILE's output folder has records of are kept, so an interrupted run goes on\n"
      "where it was. A record is kept as long as question, platform file and executables are the\n"
      "same. docs/campaigns.md explains every key of FILE.\n\n"
      "Example:\n  fourfold campaign run scaling/campaigns/sc24_weak.toml");
  run->add_option("FILE", typed->order.file, "the campaign, a TOML file")->required();
  run->add_option("--output", typed->order.output, "folder for results (default results/NAME)");
  run->add_option("--fidelity", typed->fidelity, "estimated or simulated, instead of the file's");
  run->add_option("--grids-by", typed->order.grids_by,
                  "estimate or sc24-model (see fourfold search), instead of the file's");
  run->add_flag("--fresh", typed->fresh, "drop the records that are there");
  run->add_flag("--wide", typed->wide, "print all columns, however wide");
  run->add_flag("--json", typed->json, "print the records, a line of JSON each, instead of tables");
  run->callback([typed, &action] {
    action = [typed] {
      if (typed->json) typed->order.answers = Answers::json;
      if (typed->wide) typed->order.width = Width::whole;
      if (typed->fresh) typed->order.opening = Opening::fresh;
      if (!typed->fidelity.empty()) typed->order.fidelity = fidelity_named(typed->fidelity);
      return run_campaign(typed->order);
    };
  });
}

}  // namespace fourfold
