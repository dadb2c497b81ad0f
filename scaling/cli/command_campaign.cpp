// fourfold campaign: runs the points of a campaign file, here or as a job array, and shows what
// there is of them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "scaling/cli/amounts.hpp"
#include "scaling/cli/commands.hpp"
#include "scaling/cli/output.hpp"
#include "scaling/jobs/job_script.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/campaign_views.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/text/text_table.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/whole_file.hpp"

namespace fourfold {
namespace {

struct Typed {
  CampaignOrder order;
  std::string fidelity, slice, form = "csv", kind;
  std::string launcher, template_file, time = "1h", script;
  std::int64_t slices = 8;
  bool fresh = false;
  bool json = false;
  bool preview = false;
  bool wide = false;
};
using Shared = std::shared_ptr<Typed>;

CampaignOrder order_of(const Typed& typed) {
  CampaignOrder order = typed.order;
  if (typed.wide) order.width = Width::whole;
  if (typed.json) order.answers = Answers::json;
  if (typed.fresh) order.opening = Opening::fresh;
  if (!typed.fidelity.empty()) order.fidelity = fidelity_named(typed.fidelity);
  if (!typed.slice.empty()) order.slice = slice_in(typed.slice);
  return order;
}

// What all verbs of a campaign have.
CLI::App* verb_of(CLI::App& campaign, const char* name, const char* meaning, const Shared& typed) {
  CLI::App* verb = campaign.add_subcommand(name, meaning);
  verb->add_option("FILE", typed->order.file, "the campaign, a TOML file")->required();
  verb->add_option("--output", typed->order.output, "folder for results (default results/NAME)");
  verb->add_option("--fidelity", typed->fidelity, "estimated or simulated, instead of the file's");
  return verb;
}

void add_run(CLI::App& campaign, const Shared& typed, Action& action) {
  CLI::App* run = verb_of(campaign, "run", "Run a campaign, or go on with it", typed);
  run->footer(
      "Points that FILE's output folder has records of are kept, so an interrupted run goes on\n"
      "where it was; points that failed are tried again. A record is kept as long as question,\n"
      "platform file and executables are the same. docs/campaigns.md explains every key of "
      "FILE.\n\n"
      "Example:\n  fourfold campaign run scaling/campaigns/sc24_weak.toml");
  run->add_option("--grids-by", typed->order.grids_by,
                  "estimate or sc24-model (see fourfold search), instead of the file's");
  run->add_flag("--fresh", typed->fresh, "drop the records that are there");
  run->add_flag("--wide", typed->wide, "print all columns, however wide");
  run->add_flag("--json", typed->json, "print the records, a line of JSON each, instead of tables");
  run->add_option("--slice", typed->slice,
                  "3/8: only the third eighth of the points, with records of its own, for job "
                  "arrays (campaign script, campaign collect)");
  run->callback([typed, &action] { action = [typed] { return run_campaign(order_of(*typed)); }; });
}

void add_views(CLI::App& campaign, const Shared& typed, Action& action) {
  CLI::App* status = verb_of(campaign, "status", "Say which points are answered", typed);
  status->footer(
      "Ends with status 1 while points are missing.\n\n"
      "Example:\n  fourfold campaign status scaling/campaigns/sc24_weak.toml");
  status->callback([typed, &action] {
    action = [typed] {
      const Status said = campaign_status(order_of(*typed));
      print(said.text);
      return said.complete ? status_done : status_no;
    };
  });
  CLI::App* table = verb_of(campaign, "table", "Print the tables of what is answered", typed);
  table->footer("Example:\n  fourfold campaign table scaling/campaigns/sc24_weak.toml");
  table->add_flag("--wide", typed->wide, "print all columns, however wide");
  table->callback([typed, &action] {
    action = [typed] {
      print(campaign_table(order_of(*typed)));
      return 0;
    };
  });
  CLI::App* exported = verb_of(campaign, "export", "Print the answers as CSV or JSON", typed);
  exported->footer(
      "Example:\n  fourfold campaign export scaling/campaigns/sc24_weak.toml --as csv");
  exported->add_option("--as", typed->form, "csv, or json: a record a line (docs/records.md)")
      ->capture_default_str()
      ->check(CLI::IsMember({"csv", "json"}));
  exported->callback([typed, &action] {
    action = [typed] {
      print(campaign_export(order_of(*typed), typed->form));
      return 0;
    };
  });
}

void add_pictures(CLI::App& campaign, const Shared& typed, Action& action) {
  CLI::App* plot = verb_of(campaign, "plot", "Draw the figures of what is answered", typed);
  plot->footer(
      "`fourfold plot` lists the kinds. Pictures are PNG, SVG and PDF, with the CSV they are "
      "drawn\n"
      "from beside them.\n\n"
      "Examples:\n  fourfold campaign plot scaling/campaigns/sc24_weak.toml\n"
      "  fourfold campaign plot scaling/campaigns/sc24_weak.toml --kind machines --preview");
  plot->add_option("--kind", typed->kind, "one figure instead of the campaign's own");
  plot->add_flag("--preview", typed->preview, "draw in characters, too");
  plot->callback([typed, &action] {
    action = [typed] {
      const CampaignOrder order = order_of(*typed);
      print(typed->preview ? campaign_preview(order, typed->kind)
                           : campaign_plot(order, typed->kind));
      return 0;
    };
  });
  CLI::App* report = verb_of(campaign, "report", "Write report.html of what is answered", typed);
  report->footer(
      "One file that needs no network: tables that sort, figures, provenance.\n\n"
      "Example:\n  fourfold campaign report scaling/campaigns/sc24_weak.toml");
  report->callback([typed, &action] {
    action = [typed] {
      print(campaign_report(order_of(*typed)));
      return 0;
    };
  });
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Paths in a job are absolute: it starts elsewhere.
std::string write_script(const Typed& typed) {
  const Launcher& launcher = launcher_named(typed.launcher);
  const Campaign campaign = read_campaign(typed.order.file);
  const double hours = 24.0 * days_in("--time", typed.time);
  const auto minutes = static_cast<std::int64_t>(std::ceil(60.0 * hours));
  const std::filesystem::path folder = std::filesystem::absolute(folder_of(campaign, typed.order));
  std::string command =
      fmt::format("{} campaign run {} --output {} --slice ${{FOURFOLD_SLICE}}/{}",
                  shell_word(beside_this_executable("fourfold")),
                  shell_word(std::filesystem::absolute(typed.order.file).string()),
                  shell_word(folder.string()), typed.slices);
  if (!typed.fidelity.empty()) command += " --fidelity " + shell_word(typed.fidelity);
  const std::string from =
      typed.template_file.empty() ? template_of(launcher) : typed.template_file;
  const std::string text =
      filled(content_of(from), {{"name", campaign.name},
                                {"slices", std::to_string(typed.slices)},
                                {"time", fmt::format("{}:{:02}:00", minutes / 60, minutes % 60)},
                                {"minutes", std::to_string(minutes)},
                                {"folder", shell_word(folder.string())},
                                {"directory", shell_word(std::filesystem::current_path().string())},
                                {"command", command},
                                {"quoted_command", shell_word(command)}});
  std::filesystem::create_directories(folder);
  const std::string path = (folder / launcher.ending).string();
  write_whole_file(path, text);
  return fmt::format(
      "{0} is written: {1} jobs share {2} points\n{3} {0}\nfourfold campaign collect {4} --output "
      "{5}\nfourfold campaign run {4} --output {5}    # the rest, tables and figures\n",
      path, typed.slices, campaign.questions.size(), launcher.submit, typed.order.file,
      folder.string());
}

void add_clusters(CLI::App& campaign, const Shared& typed, Action& action) {
  CLI::App* script = verb_of(campaign, "script", "Write the script of a job array", typed);
  script->footer(
      "Each job of the array answers a slice of the points with records of its own: any number "
      "may\n"
      "run at once, and what a dead job has written is kept. Submit the script again for the "
      "rest.\n"
      "A template has {{name}}, {{slices}}, {{time}}, {{minutes}}, {{folder}}, {{directory}} and\n"
      "{{command}} or {{quoted_command}}; the shipped ones are scaling/jobs/templates/*.sh.\n\n"
      "Example:\n"
      "  fourfold campaign script scaling/campaigns/sc24_weak.toml --launcher slurm --slices 16");
  script->add_option("--launcher", typed->launcher, "slurm, flux or pbs")->required();
  script->add_option("--slices", typed->slices, "jobs that share the points")
      ->capture_default_str()
      ->check(whole_number(1, 100'000));
  script->add_option("--time", typed->time, "limit of a job: 0.5h, 2d")->capture_default_str();
  script->add_option("--template", typed->template_file, "a script of your own with such words");
  script->callback([typed, &action] {
    action = [typed] {
      print(write_script(*typed));
      return 0;
    };
  });
  CLI::App* collect = verb_of(campaign, "collect", "Gather the records of a job array", typed);
  collect->footer(
      "May be done while jobs run, and again later: no record comes twice.\n\n"
      "Example:\n  fourfold campaign collect scaling/campaigns/sc24_weak.toml");
  collect->callback([typed, &action] {
    action = [typed] {
      print(collect_campaign(order_of(*typed)));
      return 0;
    };
  });
}

// fourfold plot: the kinds of figures.
void add_plot_list(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("plot", "List the kinds of figures");
  verb->footer(
      "`figures` in a campaign names those that it draws; `fourfold campaign plot FILE --kind "
      "KIND`\n"
      "draws any of them, with --preview in the terminal. plots/style.gp is what they share.\n\n"
      "Example:\n  fourfold plot");
  verb->callback([&action] {
    action = [] {
      TextTable table;
      table.columns = {{"kind", "", Align::left}, {"what it shows", "", Align::left}};
      for (const FigureKind& kind : figure_kinds()) table.rows.push_back({kind.name, kind.meaning});
      print(format(table));
      return 0;
    };
  });
}

}  // namespace

void add_campaign_verb(CLI::App& app, Action& action) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* campaign = app.add_subcommand("campaign", "Answer all points of a campaign file");
  campaign->footer(
      "Examples:\n  fourfold campaign run scaling/campaigns/sc24_weak.toml\n"
      "  fourfold campaign report scaling/campaigns/sc24_weak.toml");
  add_run(*campaign, typed, action);
  add_views(*campaign, typed, action);
  add_pictures(*campaign, typed, action);
  add_clusters(*campaign, typed, action);
  add_plot_list(app, action);
}

}  // namespace fourfold
