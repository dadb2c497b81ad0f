// Flags of `fourfold regress`, and how often it measures; see regress_verb.hpp.
#include "bench/cli/regress_verb.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bench/cli/flags.hpp"
#include "bench/regress/allowance.hpp"
#include "bench/regress/report.hpp"
#include "bench/regress/suite.hpp"
#include "engine/cpu/openblas_core.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/world.hpp"
#include "scaling/jobs/engine_job.hpp"
#include "scaling/words/output.hpp"
#include "support/flag_checks.hpp"
#include "support/standard_streams.hpp"
#include "support/text_file.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline bench::inline cli {

namespace {

constexpr std::int64_t recorded_runs = 3;
constexpr std::int64_t most_attempts = 3;

struct RegressFlags {
  std::string record, baseline, junit;
  std::vector<std::string> allowed;
  bool quick = false, json = false, plan = false;
  std::int64_t ranks = 0;
};

void add_flags(CLI::App& app, RegressFlags& flags) {
  CLI::Option* const record =
      app.add_option("--record", flags.record, "FILE: keep what is measured as a baseline")
          ->check(some_word());
  CLI::Option* const baseline =
      app.add_option("--baseline", flags.baseline, "FILE: hold this run to that baseline")
          ->check(some_word())
          ->excludes(record);
  app.add_option("--allow", flags.allowed,
                 "how far quantities may fall instead of the baseline's bounds: 5% all,\n"
                 "'product=5%' those whose names begin so")
      ->check(some_word())
      ->needs(baseline);
  app.add_flag("--quick", flags.quick, "a quarter of the repetitions, less than a minute");
  app.add_option("--ranks", flags.ranks,
                 "MPI processes; 0: one a core, or those that mpirun or srun has started")
      ->check(whole_number(0, 1 << 20));
  app.add_flag("--json", flags.json, "print one line of JSON");
  app.add_option("--junit", flags.junit, "FILE: JUnit's XML, a test for each quantity")
      ->check(some_word());
  app.add_flag("--plan", flags.plan, "")->group("");
  app.footer(
      "Measures matrix products, memory, training steps and collectives on all ranks at once, in "
      "turns\n"
      "with a product of fixed code: products and training are judged beside it, so that a "
      "machine\n"
      "that is busy or clocked down is no regression of a kernel. Rounds of some milliseconds "
      "hold\n"
      "other processes off, where real-time priority is allowed. A quantity is slower if its "
      "median\n"
      "is below the baseline's bound and a rank test agrees (chance < 0.01), in each of three "
      "runs.\n"
      "Projections must be the same bit by bit. A rank or a node that is 10 % below the median of\n"
      "its peers is named.\n"
      "Exit status: 0 no regression, or recorded; 1 one; 2 it could not be measured; 3 it could "
      "not "
      "be\njudged: what looks slower was measured while others held the cores.\n"
      "docs/regress.md has more.\n\n"
      "Examples:\n"
      "  fourfold regress --record baseline.json\n"
      "  fourfold regress --baseline baseline.json --quick --junit regress.xml\n"
      "  fourfold regress --baseline baseline.json --allow 5%\n"
      "  fourfold regress --quick --json\n"
      "On several nodes, from the queue: srun fourfold regress --baseline baseline.json");
}

std::string content_of(const std::string& path) {
  try {
    return read_text_file(path, "the baseline");
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{}; `fourfold regress --record {}` writes a baseline", error.what(), path));
  }
}

std::optional<Baseline> baseline_of(const RegressFlags& flags, const std::string& content,
                                    std::int64_t ranks, std::vector<std::string>& wider) {
  if (flags.baseline.empty()) return std::nullopt;
  Baseline baseline = baseline_from_json(content, flags.baseline);
  wider = allow(flags.allowed, baseline);
  const std::string why = incomparable(baseline, provenance_now(), ranks);
  if (!why.empty()) {
    throw std::runtime_error(fmt::format("{} does not fit: {}", flags.baseline, why));
  }
  return baseline;
}

class Regress {
 public:
  explicit Regress(const RegressFlags& flags) : flags_(flags) {
    std::string content;
    if (!flags.baseline.empty()) {
      content = from_first_rank([&] { return content_of(flags.baseline); });
    }
    together([&] { baseline_ = baseline_of(flags, content, world_.size(), report_.wider); });
  }

  int run() {
    if (!flags_.record.empty()) return record();
    report_.run = measure("");
    judge_run();
    while (looks_slower() && report_.attempts < most_attempts) {
      ++report_.attempts;
      report_.run = better_of(report_.run, measure(", again"));
      judge_run();
    }
    finish();
    return report_.status();
  }

 private:
  MachineRun measure(const std::string& words) {
    return measure_machine(flags_.quick ? Effort::quick : Effort::thorough,
                           [&](const std::string& what) {
                             if (world_.rank() != 0) return;
                             fmt::print(stderr, "measuring {}{}\n", what, words);
                             std::fflush(stderr);
                           });
  }

  bool looks_slower() const { return report_.status() == 1 || report_.undecided(); }

  void judge_run() {
    report_.stragglers = stragglers(report_.run, baseline_ ? &*baseline_ : nullptr);
    if (!baseline_) return;
    report_.compared = true;
    report_.baseline = flags_.baseline;
    report_.baseline_fma = baseline_->fma_peak;
    together([&] { report_.judgements = judge(*baseline_, report_.run); });
  }

  void finish() {
    on_first_rank([this] {
      report_.provenance = provenance_now();
      report_.libraries = blas_report();
      if (!flags_.junit.empty()) write_whole_file(flags_.junit, regress_junit(report_));
      print(flags_.json ? regress_json(report_) : regress_text(report_));
    });
  }

  int record() {
    std::vector<MachineRun> runs;
    for (std::int64_t i = 1; i <= recorded_runs; ++i) {
      runs.push_back(measure(fmt::format(", {} of {}", i, recorded_runs)));
    }
    report_.run = runs.front();
    for (const MachineRun& run : runs) report_.run = better_of(report_.run, run);
    report_.stragglers = stragglers(report_.run);
    report_.recorded = true;
    Baseline baseline = fourfold::baseline_of(runs);
    show_what_is_kept(baseline);
    finish();
    on_first_rank([&] {
      baseline.provenance = report_.provenance;
      baseline.libraries = report_.libraries;
      write_whole_file(flags_.record, to_json(baseline));
      say_line("recorded in " + flags_.record);
    });
    return report_.status();
  }

  void show_what_is_kept(const Baseline& baseline) {
    report_.run.fma_peak = baseline.fma_peak;
    for (std::size_t i = 0; i < baseline.metrics.size(); ++i) {
      const BaselineMetric& kept = baseline.metrics[i];
      report_.run.metrics[i] = {kept.name,   kept.reference.unit, kept.scale, kept.reference.value,
                                kept.judged, kept.samples};
    }
  }

  World world_;
  RegressFlags flags_;
  std::optional<Baseline> baseline_;
  RegressReport report_;
};

// What can be refused before anything is measured.
void check(const RegressFlags& flags, std::int64_t ranks) {
  if (!flags.record.empty()) refuse_unwritable(flags.record);
  if (!flags.junit.empty()) refuse_unwritable(flags.junit);
  std::vector<std::string> wider;
  if (!flags.baseline.empty()) baseline_of(flags, content_of(flags.baseline), ranks, wider);
}

}  // namespace

int run_regress_verb(const Started& started) {
  CLI::App app("Says whether this machine is as fast as it was, and which nodes are slow.");
  RegressFlags flags;
  add_flags(app, flags);
  if (const auto status = parsed(app, "fourfold regress", started.arguments())) return *status;
  if (flags.plan) {
    const std::int64_t ranks =
        flags.ranks > 0 ? flags.ranks : std::max(1U, std::thread::hardware_concurrency());
    check(flags, ranks);
    print(plan_of(ranks, "regress", started.arguments()));
    return 0;
  }
  repair_openblas_core(CoreWish::repair);
  return work_over_mpi(started, [&](const Session& session) {
    if (flags.ranks > 0 && flags.ranks != session.ranks()) {
      throw FailedTogether(fmt::format("--ranks {}, but {} were started; leave --ranks out",
                                       flags.ranks, session.ranks()));
    }
    return Regress(flags).run();
  });
}

}  // namespace fourfold::inline bench::inline cli
