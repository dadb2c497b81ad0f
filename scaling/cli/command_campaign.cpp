// fourfold campaign: runs the points of a campaign file, here or as a job array, and shows what
// there is of them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/shown.hpp"
#include "scaling/jobs/job_script.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/study/campaign_run.hpp"
#include "scaling/study/campaign_views.hpp"
#include "scaling/study/figure.hpp"
#include "scaling/study/measured_point.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/text_table.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/own_file.hpp"
#include "support/prose.hpp"
#include "support/shell_word.hpp"
#include "support/text_file.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  CampaignOrder order;
  std::string fidelity, slice, form = "csv", kind;
  std::string launcher, template_file, time = "1h", script, width;
  std::int64_t slices = 8, devices = 0, ranks_per_node = 0, cores_per_rank = 1;
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
  if (typed.devices > 0) order.devices = typed.devices;
  order.width_in = inches_in("--width", typed.width);
  if (typed.fresh && order.is_part()) {
    throw std::runtime_error(
        "--fresh drops the records of all points, and --slice and --devices run a part of them; "
        "leave --fresh out, or name a new folder with --output");
  }
  if (!order.launch.empty()) launch_words(order.launch, 1);  // refuse it before the work
  return order;
}

// What all verbs of a campaign have.
CLI::App* verb_of(CLI::App& campaign, const char* name, const char* meaning, const Shared& typed) {
  CLI::App* verb = campaign.add_subcommand(name, meaning);
  verb->add_option("FILE", typed->order.file, "the campaign, a TOML file")->required();
  verb->add_option("--output", typed->order.output, "folder for results (default results/NAME)");
  verb->add_option("--fidelity", typed->fidelity,
                   "estimated, simulated, full, s4u or s4u-step, instead of the file's");
  return verb;
}

void add_run(CLI::App& campaign, const Shared& typed, Action& action) {
  CLI::App* run = verb_of(campaign, "run", "Run a campaign, or go on with it", typed);
  run->footer(
      "As many points are projected at a time as there are cores; then those that are measured "
      "are\n"
      "trained, one at a time. Points that FILE's output folder has records of are kept, so an\n"
      "interrupted or killed run goes on where it was; points that failed are tried again. A "
      "record\n"
      "is kept as long as question, platform file and executables are the same. docs/campaigns.md\n"
      "explains every key of FILE.\n\n"
      "Examples:\n  fourfold campaign run scaling/campaigns/sc24_weak.toml\n"
      "  fourfold campaign run scaling/campaigns/here_strong.toml    # trains, and simulates the "
      "same\n"
      "  fourfold campaign run scaling/campaigns/here_weak.toml --devices 8 \\\n"
      "      --launch 'srun --ntasks={ranks} --cpu-bind=cores'");
  run->add_option("--grids-by", typed->order.grids_by,
                  "estimate or sc24-model (see fourfold search), instead of the file's");
  run->add_flag("--fresh", typed->fresh, "drop the records of all points");
  run->add_flag("--wide", typed->wide, "print all columns, however wide");
  add_width_flag(*run, typed->width);
  run->add_flag("--json", typed->json, "print the records, a line of JSON each, instead of tables");
  run->add_option("--retries", typed->order.retries,
                  "how often a point is tried again at once whose failure may pass, such as a "
                  "simulation or a training that was killed")
      ->capture_default_str()
      ->check(whole_number(0, 100));
  CLI::Option* slice =
      run->add_option("--slice", typed->slice,
                      "3/8: only the third eighth of the points that are projected, with records "
                      "of its own, for job arrays (campaign script, campaign collect)");
  run->add_option("--devices", typed->devices,
                  "only points on so many devices, and of measured ones only the trainings, with "
                  "records of its own, for a job of that size")
      ->check(whole_number(1))
      ->excludes(slice);
  run->add_option("--launch", typed->order.launch,
                  "what starts the ranks of measured points instead of mpirun, such as 'srun "
                  "--ntasks={ranks}'; {ranks} is how many");
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
  CLI::Option* form =
      exported
          ->add_option("--as", typed->form,
                       "csv; json: a record a line (docs/records.md); latex: the main table")
          ->capture_default_str()
          ->check(CLI::IsMember({"csv", "json", "latex"}));
  exported
      ->add_flag_function(
          "--latex", [typed](std::int64_t) { typed->form = "latex"; }, "as --as latex")
      ->excludes(form);
  exported->callback([typed, &action] {
    action = [typed] {
      print(campaign_export(order_of(*typed), typed->form));
      return 0;
    };
  });
}

int told(const DrawnFigures& drawn) {
  print(drawn.said.ends_with('\n') ? drawn.said : drawn.said + '\n');
  for (const auto& [kind, sentence] : drawn.failures) remark(sentence);
  return drawn.failures.empty() ? status_done : status_could_not;
}

void add_pictures(CLI::App& campaign, const Shared& typed, Action& action) {
  CLI::App* plot = verb_of(campaign, "plot", "Draw the figures of what is answered", typed);
  plot->footer(
      "`fourfold plot` lists the kinds. Pictures are PNG, SVG and PDF, with the CSV they are "
      "drawn\n"
      "from beside them.\n\n"
      "Examples:\n  fourfold campaign plot scaling/campaigns/sc24_weak.toml\n"
      "  fourfold campaign plot scaling/campaigns/sc24_weak.toml --kind machines --preview\n"
      "  fourfold campaign plot scaling/campaigns/sc24_weak.toml --width 3.5in");
  plot->add_option("--kind", typed->kind, "one figure instead of the campaign's own");
  plot->add_flag("--preview", typed->preview, "draw in characters, too");
  add_width_flag(*plot, typed->width);
  plot->callback([typed, &action] {
    action = [typed] {
      const CampaignOrder order = order_of(*typed);
      if (typed->preview && !typed->width.empty()) {
        throw std::runtime_error("--width cannot take effect: --preview draws in characters");
      }
      return told(typed->preview ? campaign_preview(order, typed->kind)
                                 : campaign_plot(order, typed->kind));
    };
  });
  CLI::App* report = verb_of(campaign, "report", "Write report.html of what is answered", typed);
  report->footer(
      "One file that needs no network: tables that sort, figures, provenance.\n\n"
      "Example:\n  fourfold campaign report scaling/campaigns/sc24_weak.toml");
  report->callback(
      [typed, &action] { action = [typed] { return told(campaign_report(order_of(*typed))); }; });
}

// Scripts of a campaign, all with the same words, in its folder. Paths in a job are absolute: it
// starts elsewhere.
class Scripts {
 public:
  Scripts(const Typed& typed, const Campaign& campaign)
      : typed_(typed),
        campaign_(campaign),
        launcher_(launcher_named(typed.launcher)),
        folder_(std::filesystem::absolute(folder_of(campaign, typed.order))) {
    const double hours = 24.0 * days_in("--time", typed.time);
    minutes_ = static_cast<std::int64_t>(std::ceil(60.0 * hours));
    std::filesystem::create_directories(folder_);
  }

  // Returns the command that submits it.
  std::string of_slices() const {
    const std::int64_t slices =
        std::clamp<std::int64_t>(std::ssize(campaign_.questions), 1, typed_.slices);
    const std::string path = (folder_ / (std::string(launcher_.name) + ".sh")).string();
    write(path, JobKind::slices, fmt::format("--slice ${{FOURFOLD_SLICE}}/{}", slices),
          {{"slices", std::to_string(slices)}});
    return fmt::format("{} {}    # {}\n", launcher_.submit, shell_argument(path),
                       counted(slices, "job"));
  }

  // The nodes follow from the ranks of each, which are the platform's devices unless they are said.
  std::string of_devices(const Question& question) const {
    const std::int64_t devices = question.devices;
    std::int64_t per_node = typed_.ranks_per_node;
    if (per_node < 1 && is_calibrated(question.platform)) {
      per_node = read_platform(question.platform).node.devices;
    }
    per_node = per_node < 1 ? devices : std::min(per_node, devices);
    const std::string path = (folder_ / fmt::format("{}-{}.sh", launcher_.name, devices)).string();
    write(path, JobKind::measured, fmt::format("--devices {}", devices),
          {{"devices", std::to_string(devices)},
           {"nodes", std::to_string((devices + per_node - 1) / per_node)},
           {"ranks_per_node", std::to_string(per_node)},
           {"cores_per_rank", std::to_string(typed_.cores_per_rank)},
           {"cores_per_node", std::to_string(per_node * typed_.cores_per_rank)}});
    return fmt::format("{} {}\n", launcher_.submit_measured, shell_argument(path));
  }

  std::string folder() const { return folder_.string(); }

 private:
  void write(const std::string& path, JobKind kind, const std::string& part,
             std::map<std::string, std::string> words) const {
    std::string command = fmt::format(
        "{} campaign run {} --output {} {}", shell_word(beside_this_executable("fourfold")),
        shell_word(std::filesystem::absolute(typed_.order.file).string()),
        shell_word(folder_.string()), part);
    if (!typed_.fidelity.empty()) command += " --fidelity " + shell_word(typed_.fidelity);
    const auto devices = words.find("devices"), slices = words.find("slices");
    const std::size_t behind = devices == words.end() ? 0 : 1 + devices->second.size();
    const std::int64_t jobs = slices == words.end() ? 1 : std::stoll(slices->second);
    words.merge(std::map<std::string, std::string>{
        {"name", job_name(campaign_.name, launcher_, behind)},
        {"time", fmt::format("{}:{:02}:00", minutes_ / 60, minutes_ % 60)},
        {"minutes", std::to_string(minutes_)},
        {"folder", folder_.string()},
        {"directory", std::filesystem::current_path().string()},
        {"command", command},
        {"quoted_command", shell_word(command)}});
    const std::string from =
        typed_.template_file.empty() ? template_of(launcher_, kind) : typed_.template_file;
    const std::string text = read_text_file(from, "the template");
    write_own_file(path, filled(for_slices(text, launcher_, jobs), words));
  }

  const Typed& typed_;
  const Campaign& campaign_;
  const Launcher& launcher_;
  std::filesystem::path folder_;
  std::int64_t minutes_ = 0;
};

std::string write_scripts(const Typed& typed, const Campaign& campaign) {
  const Scripts scripts(typed, campaign);
  std::string text =
      fmt::format("{}: the scripts lie in {}; what they answer comes together by\n",
                  counted(std::ssize(campaign.questions), "point"), scripts.folder());
  if (!campaign.is_measured()) {
    text += scripts.of_slices();
  } else {
    std::map<std::int64_t, const Question*> by_devices;
    for (const Question& question : campaign.questions) {
      by_devices.emplace(question.devices, &question);
    }
    for (const auto& [devices, question] : by_devices) text += scripts.of_devices(*question);
  }
  text += fmt::format(
      "fourfold campaign collect {0} --output {1}\nfourfold campaign run {0} --output {1}    # the "
      "rest, tables and figures\n",
      shell_argument(typed.order.file), shell_argument(scripts.folder()));
  return text;
}

// `script` has flags of an array of projected points, and of jobs of measured ones.
void refuse_idle_flags(const CLI::App& script, bool measured) {
  const std::vector<const char*> of_projected{"--slices"};
  const std::vector<const char*> of_measured{"--ranks-per-node", "--cores-per-rank"};
  for (const char* flag : measured ? of_projected : of_measured) {
    if (script.get_option(flag)->count() == 0) continue;
    throw std::runtime_error(
        fmt::format("{} is for points that are {}, and this campaign's are {}; leave it out", flag,
                    measured ? "projected" : "measured", measured ? "measured" : "projected"));
  }
}

void add_clusters(CLI::App& campaign, const Shared& typed, Action& action) {
  CLI::App* script = verb_of(campaign, "script", "Write job scripts for a cluster", typed);
  script->footer(
      "Of points that are projected: a job array, each of whose jobs answers a slice of the "
      "points.\n"
      "Of a measured campaign: a job for each number of devices, in which srun, flux run or "
      "mpirun\n"
      "start the ranks; the simulated twins are left to `campaign run` at the end. Each job has\n"
      "records of its own: any number may run at once, and what a dead one has written is kept.\n"
      "Submit its script again for the rest.\n\n"
      "A template has {{name}}, {{time}}, {{minutes}}, {{folder}}, {{directory}} and {{command}} "
      "or\n"
      "{{quoted_command}}; of an array also {{slices}}, of a measured one {{devices}}, {{nodes}},\n"
      "{{ranks_per_node}}, {{cores_per_rank}} and {{cores_per_node}}, and it adds --launch to the\n"
      "command. Each is one word of the shell; a line with # takes no path but of letters, "
      "digits,\n"
      "blanks and /._+-,:=@. The shipped ones, scaling/jobs/templates/*.sh, say where accounts,\n"
      "modules and binding go.\n\n"
      "Examples:\n"
      "  fourfold campaign script scaling/campaigns/sc24_weak.toml --launcher slurm --slices 16\n"
      "  fourfold campaign script scaling/campaigns/here_weak.toml --launcher flux \\\n"
      "      --ranks-per-node 8 --cores-per-rank 7 --time 0.5h");
  script->add_option("--launcher", typed->launcher, "slurm, flux, pbs or lsf")->required();
  script
      ->add_option("--slices", typed->slices,
                   "jobs that share the points, of those that are projected; one a point at most")
      ->capture_default_str()
      ->check(whole_number(1, 100'000));
  script
      ->add_option("--ranks-per-node", typed->ranks_per_node,
                   "of measured points (default: devices of a node of their platform)")
      ->check(whole_number(1, 100'000));
  script->add_option("--cores-per-rank", typed->cores_per_rank, "of measured points")
      ->capture_default_str()
      ->check(whole_number(1, 100'000));
  script->add_option("--time", typed->time, "limit of a job: 0.5h, 2d")->capture_default_str();
  script->add_option("--template", typed->template_file, "a script of your own with such words");
  script->callback([typed, script, &action] {
    action = [typed, script] {
      const Campaign read = campaign_of(order_of(*typed));
      refuse_idle_flags(*script, read.is_measured());
      print(write_scripts(*typed, read));
      return 0;
    };
  });
  CLI::App* collect = verb_of(campaign, "collect", "Gather the records of jobs", typed);
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
  add_template(*campaign, "a campaign", action,
               [] { return shipped_file("scaling/study/campaign_template.toml"); });
  add_plot_list(app, action);
}

}  // namespace fourfold::inline scaling::inline cli
