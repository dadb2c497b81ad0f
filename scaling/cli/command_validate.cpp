// fourfold validate: how far projections lie from runs that somebody measured.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>

#include "scaling/bars/residuals.hpp"
#include "scaling/calibrate/here.hpp"
#include "scaling/cli/commands.hpp"
#include "scaling/cli/shown.hpp"
#include "scaling/jobs/progress.hpp"
#include "scaling/study/plot.hpp"
#include "scaling/validation/leave_out.hpp"
#include "scaling/validation/residuals_of.hpp"
#include "scaling/validation/validation_json.hpp"
#include "scaling/validation/validation_run.hpp"
#include "scaling/validation/validation_text.hpp"
#include "scaling/words/amounts.hpp"
#include "scaling/words/output.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline scaling::inline cli {
namespace {

struct Typed {
  std::vector<std::string> sets;
  std::string fidelity = name(Fidelity::estimated);
  std::string csv, against;  // paths; empty: none
  std::string width;         // of the figure beside the CSV
  std::string keep;          // a path; empty: none
  bool json = false;
  bool intervals = false;
  HereOrder here;
};

// The set that is measured where it is asked for.
bool asks_for_this_machine(const Typed& typed) {
  const bool asked = std::ranges::find(typed.sets, "here") != typed.sets.end();
  if (asked && typed.sets.size() > 1) {
    throw std::runtime_error("--set here is trained on this machine: ask for it alone");
  }
  return asked;
}

std::vector<SetResult> run(const std::vector<ValidationSet>& sets, Fidelity fidelity) {
  double cases = 0.0;
  for (const ValidationSet& set : sets) cases += static_cast<double>(set.cases.size());
  Progress progress(static_cast<std::int64_t>(sets.size()), cases);
  std::vector<SetResult> results;
  for (const ValidationSet& set : sets) {
    progress.begin(set.name, static_cast<double>(set.cases.size()));
    results.push_back(run_validation(set, fidelity, [&](const std::string& activity, double done) {
      progress.update(activity, done);
    }));
    progress.finish(fmt::format("{} rows", set.cases.size()));
  }
  return results;
}

bool any_ran(const std::vector<SetResult>& results) {
  const auto ran = [](const CaseResult& one) {
    return one.projection.has_value() && one.one.is_published();
  };
  return std::ranges::any_of(
      results, [&](const SetResult& result) { return std::ranges::any_of(result.cases, ran); });
}

int validate(const Typed& typed) {
  const Fidelity fidelity = projected_fidelity_named(typed.fidelity);
  const double width_in = inches_in("--width", typed.width);
  if (width_in > 0.0 && typed.csv.empty()) {
    throw std::runtime_error("--width cannot take effect: without --csv no figure is drawn");
  }
  for (const std::string& path : {typed.csv, typed.keep}) {
    if (!path.empty()) refuse_unwritable(path);
  }
  const EarlierValidation earlier =
      typed.against.empty() ? EarlierValidation{} : read_validation_json(typed.against);
  std::vector<ValidationSet> sets;
  for (const std::string& set : typed.sets.empty() ? known_validation_sets() : typed.sets) {
    if (std::ranges::count(typed.sets, set) > 1) {
      throw std::runtime_error("--set " + set + " is given twice");
    }
    sets.push_back(read_validation_set(set));
    refuse_other_fidelity(earlier, sets.back().name, fidelity);
  }
  const std::vector<SetResult> results = run(sets, fidelity);
  if (!typed.csv.empty()) {
    const std::string csv = validation_csv(results);
    write_whole_file(typed.csv, csv);
    if (any_ran(results)) say_line(draw_scatter(typed.csv, csv, typed.fidelity, width_in));
  }
  const std::vector<Residual> residuals = residuals_of(results);
  if (!typed.keep.empty()) {
    write_whole_file(typed.keep, residuals_csv(residuals));
    say_line(fmt::format("{} has {} runs", typed.keep, residuals.size()));
  }
  if (typed.intervals && leave_out(residuals, LeftOut::source).sources.empty()) {
    throw std::runtime_error(fmt::format(
        "--intervals needs runs of at least {} sources, one of which is left out at a time",
        least_sources + 1));
  }
  int status = status_done;
  if (typed.json) {
    print(validation_json(results, leave_out(residuals)));
  } else if (typed.intervals) {
    for (LeftOut what : {LeftOut::source, LeftOut::machine, LeftOut::system}) {
      const LeaveOut intervals = leave_out(residuals, what);
      print(leave_out_text(intervals));
      const std::string why = wrong_with(intervals);
      if (!why.empty()) status = complain(why, status_no);
    }
  } else {
    print(typed.against.empty() ? validation_text(results) : changes_text(earlier, results));
  }
  for (const SetResult& result : results) {
    const std::string why = worse_than_bound(result);
    if (why.empty()) continue;
    status = complain(why, status_no);
  }
  return status;
}

}  // namespace

void add_validate_verb(CLI::App& app, Action& action) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb =
      app.add_subcommand("validate", "Compare projections with training runs that were measured");
  verb->footer(
      "Each set is a CSV in scaling/validation/sets, or one of your own (docs/accuracy.md). The\n"
      "status is 1 if a set is further from what was measured than the bound it records.\n\n"
      "Examples:\n"
      "  fourfold validate\n"
      "  fourfold validate --set known_runs --csv rows.csv\n"
      "  fourfold validate --json > before.json\n"
      "  fourfold validate --against before.json\n"
      "  fourfold validate --intervals\n"
      "  fourfold validate --set here                # trains on this machine and simulates the "
      "same\n"
      "  fourfold validate --keep scaling/validation/residuals.csv   # after a change of the "
      "model");
  verb->add_option(
      "--set", typed->sets,
      "a set by name or a .csv file; may be given several times; all of them if absent");
  verb->add_option("--fidelity", typed->fidelity,
                   "as fourfold project; bounds are those of estimated")
      ->capture_default_str();
  verb->add_option("--csv", typed->csv,
                   "FILE: write the rows as CSV, and beside it a scatter plot as PNG and SVG");
  add_width_flag(*verb, typed->width);
  const auto against = verb->add_option("--against", typed->against,
                                        "FILE: show what moved since this was printed by --json");
  verb->add_option("--keep", typed->keep,
                   "FILE: write published / projected of each run; error bars are made of "
                   "scaling/validation/residuals.csv");
  verb->add_flag("--intervals", typed->intervals,
                 "hold the runs of each source, machine and system against error bars made of the "
                 "others; the status is 1 if 80 % bars do not cover 65 to 95 % of all and 40 % of "
                 "each, or +-25 % scored better")
      ->excludes(against);
  verb->add_flag("--json", typed->json, "print sets, rows and statistics as one line of JSON")
      ->excludes(against);
  verb->add_option("--platform", typed->here.platform,
                   "of --set here: what `fourfold calibrate` wrote; without it this machine is "
                   "calibrated first")
      ->excludes(against);
  verb->add_option(
          "--folder", typed->here.folder,
          "of --set here: where runs and the calibration are kept, so that the same command "
          "goes on")
      ->capture_default_str();
  verb->add_option("--transport", typed->here.transport,
                   "of --set here: who moves the bytes: ring, library, window, or auto")
      ->capture_default_str()
      ->check(CLI::IsMember({"ring", "library", "window", "auto"}));
  verb->callback([typed, verb, &action] {
    action = [typed, verb] {
      if (!asks_for_this_machine(*typed)) {
        for (const char* flag : {"--platform", "--folder", "--transport"}) {
          if (verb->count(flag) == 0) continue;
          throw std::runtime_error(std::string(flag) + " cannot take effect without --set here");
        }
        return validate(*typed);
      }
      typed->here.json = typed->json;
      return validate_here(typed->here);
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
