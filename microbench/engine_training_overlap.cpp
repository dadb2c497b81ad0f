// Question: of the communication in a training step that the schedule allows to hide, how much does
// the engine hide, with all overlaps on, in each way to progress? And where is the rest?
//
// Walks over the same operations, on the same ranks, in turn within each repetition; a time is the
// slowest rank's from a common barrier:
//
//   apart    every wait moved right behind its start: nothing is hidden
//   t_total  the stream as the schedule issues it, in each way to progress, median of the steps
//
// From `apart` come the durations of each operation alone, medians over the steps, and from those
// by ideal_walk.hpp, on a perfect communicator whose work costs the CPU nothing:
//
//   t_apart  the walk of `apart` (its measured median is printed beside it, as a check)
//   t_ideal  the walk of the stream as the schedule issues it
//
// OSU's formula is 100 max(0, 1 - (t_total - t_compute) / t_communication). Of a training step,
// some communication cannot be hidden whatever the engine does: forward all-reduces, the first
// gather, what lasts longer than the compute it stands beside. It counts as if it were compute:
//
//   t_compute = t_ideal, t_communication = t_apart - t_ideal = what the schedule allows to hide
//
// so that 100 % is the perfect communicator and 0 % is t_apart. `of all moved` is the same with
// t_communication = everything that has compute between its start and its wait, as if that compute
// were always long enough. Both count the CPU's work for messages as not hidden.
//
// Where the rest is, mean over ranks: `kernels` how much longer kernels lasted than in t_apart, of
// which `calls` were spent in calls for progress; `starts` in starting; and by channel how much
// longer than in t_ideal the rank stood still. Run it under a limited network:
// microbench/training_overlap.sh.
#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/cpu/tuned_backend.hpp"
#include "engine/executor.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/mpi/session.hpp"
#include "microbench/alone_record.hpp"
#include "microbench/apart.hpp"
#include "microbench/ideal_walk.hpp"
#include "microbench/overlap_question.hpp"
#include "microbench/samples.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/order/issue.hpp"
#include "schedule/order/step.hpp"
#include "support/field.hpp"

namespace fourfold::inline microbench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What one rank did in one step, in seconds.
struct Account {
  double kernels = 0.0, starts = 0.0, calls = 0.0;
  std::vector<double> waited;  // by channel
};

// One way to walk, and what its steps took.
struct WalkTimes {
  std::string title;
  std::unique_ptr<Channels> channels;
  std::unique_ptr<Executor> executor;
  std::vector<double> seconds;    // of the slowest rank
  std::vector<Account> accounts;  // this rank's
};

class Measurement {
 public:
  Measurement(const OverlapQuestion& question, std::int64_t rank)
      : question_(question),
        schedule_(issue(record_step(question.model, question.options), question.options)),
        apart_(apart(schedule_)),
        list_(schedule_.program.channels),
        moved_(moved_apart(schedule_, question.grid)),
        weights_(schedule_.program, question.grid, rank, backend_.memory()),
        batch_(local_batch(question, rank)),
        alone_(schedule_.program) {
    weights_.initialise(question.model, 1);
    add("apart", apart_, ProgressMode::none);
    for (ProgressMode mode : {ProgressMode::tiles, ProgressMode::thread, ProgressMode::none}) {
      if (question.modes.find(name(mode)) != std::string::npos) add(name(mode), schedule_, mode);
    }
  }

  void run() {
    for (WalkTimes& walk : walks_) step(walk);
    for (std::int64_t i = 0; i < question_.repetitions; ++i) {
      for (WalkTimes& walk : walks_) record(walk, step(walk));
    }
  }

  void report(bool speaks) const {
    const AloneDurations alone = alone_.durations();
    const IdealStep ideal = IdealWalk(schedule_, question_.grid, alone).run();
    const double apart = IdealWalk(apart_, question_.grid, alone).run().seconds;
    double moved = 0.0, fixed = 0.0, kernels = 0.0;
    for (std::size_t op = 0; op < moved_.size(); ++op) {
      (moved_[op] ? moved : fixed) += alone.collectives[op];
      kernels += alone.kernels.front()[op];
    }
    if (speaks) {
      std::printf(
          "\ngrid %s, batch %lld, recompute %s, data reduction %s: kernels %.0f ms; moved "
          "apart %.0f ms (%.0f %% of kernels), of which the schedule allows to hide %.0f "
          "ms; never moved %.0f ms\nt_ideal %.0f ms, t_apart %.0f ms (%.0f ms measured)\n",
          question_.grid.str().c_str(), static_cast<long long>(question_.batch),
          name(question_.options.recompute), name(question_.options.data_reduction), kernels * 1e3,
          moved * 1e3, 100 * moved / kernels, (apart - ideal.seconds) * 1e3, fixed * 1e3,
          ideal.seconds * 1e3, apart * 1e3, median(walks_.front().seconds) * 1e3);
      std::printf("%-7s %8s %9s %11s %13s   more than ideal, ms: %7s %7s %7s", "walk", "step ms",
                  "hidden %", "(quartiles)", "of all moved", "kernels", "calls", "starts");
      for (std::size_t i : channels_in_use()) std::printf(" %8s", name(list_[i]).c_str());
      std::printf("\n");
    }
    for (const WalkTimes& walk : walks_) say(walk, {ideal, apart, moved}, speaks);
  }

 private:
  void add(const std::string& title, const Schedule& schedule, ProgressMode mode) {
    WalkTimes walk;
    walk.title = title;
    walk.channels = std::make_unique<Channels>(question_.grid, list_, TransportKind::ring, mode,
                                               backend_.memory());
    Channels& channels = *walk.channels;
    const auto between_tiles = [this, &channels] {
      const Clock::time_point called = Clock::now();
      channels.between_tiles();
      calls_ += seconds_since(called);
    };
    walk.executor = std::make_unique<Executor>(
        question_.model, schedule, question_.batch,
        ExecutorMeans{weights_, backend_, channels.communicators(list_), between_tiles});
    walks_.push_back(std::move(walk));
  }

  ExecutedStep step(WalkTimes& walk) {
    calls_ = 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    step_began_ = Clock::now();
    return walk.executor->step(batch_, AdamW{}, ++steps_);
  }

  void record(WalkTimes& walk, const ExecutedStep& step) {
    walk.seconds.push_back(slowest(step.seconds));
    Account account;
    account.calls = calls_;
    account.waited = step.exposed_seconds;
    for (const OpSpan& span : step.spans) {
      const auto op = static_cast<std::size_t>(span.op);
      const bool collective = is_collective(schedule_.program.ops[op].kind);
      if (!collective) account.kernels += span.end - span.start;
    }
    account.starts = step.seconds - account.kernels;
    for (double waited : account.waited) account.starts -= waited;
    walk.accounts.push_back(account);
    if (&walk == &walks_.front()) {
      alone_.add(step, std::chrono::duration<double>(step_began_.time_since_epoch()).count());
    }
  }

  std::vector<std::size_t> channels_in_use() const {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (question_.grid.extent(list_[i].axis) > 1) used.push_back(i);
    }
    return used;
  }

  // Mean over ranks of the median over repetitions.
  template <typename Read>
  static double typical(const WalkTimes& walk, const Read& read) {
    std::vector<double> values;
    for (const Account& account : walk.accounts) values.push_back(read(account));
    return mean(median(values));
  }

  // What a walk is measured against.
  struct Scale {
    IdealStep ideal;
    double apart = 0.0, moved = 0.0;
  };

  void say(const WalkTimes& walk, const Scale& scale, bool speaks) const {
    const auto hidden = [&](double share, double communication) {
      const double compute = scale.apart - communication;
      return 100 * std::max(0.0, 1 - (quantile(walk.seconds, share) - compute) / communication);
    };
    const auto kernels = [](const Account& account) { return account.kernels; };
    const double slower = typical(walk, kernels) - typical(walks_.front(), kernels);
    const double calls = typical(walk, [](const Account& account) { return account.calls; });
    const double starts = typical(walk, [](const Account& account) { return account.starts; });
    const double hideable = scale.apart - scale.ideal.seconds;
    if (speaks) {
      std::printf("%-7s %8.0f %9.0f %5.0f-%-5.0f %13.0f %23s %7.0f %7.0f %7.0f", walk.title.c_str(),
                  median(walk.seconds) * 1e3, hidden(0.5, hideable), hidden(0.75, hideable),
                  hidden(0.25, hideable), hidden(0.5, scale.moved), "", slower * 1e3, calls * 1e3,
                  starts * 1e3);
    }
    for (std::size_t i : channels_in_use()) {
      const double waited =
          typical(walk, [i](const Account& account) { return account.waited[i]; });
      if (speaks) std::printf(" %8.0f", (waited - scale.ideal.waited[i]) * 1e3);
    }
    if (speaks) std::printf("\n");
  }

  OverlapQuestion question_;
  Schedule schedule_, apart_;
  std::vector<Channel> list_;
  std::vector<bool> moved_;
  TunedBackend backend_;
  Weights weights_;
  LocalBatch batch_;
  std::vector<WalkTimes> walks_;  // the first one hides nothing
  AloneRecord alone_;
  std::int64_t steps_ = 0;
  double calls_ = 0.0;  // seconds of this step in calls for progress
  Clock::time_point step_began_;
};

int run(int argc, char** argv) {
  OverlapQuestion question;
  std::string model = "gpt2-mini", grid = "1x1x2x1", recompute = "none", data = "after-backward";
  CLI::App app("How much communication of a training step is hidden");
  app.add_option("--model", model);
  app.add_option("--grid", grid);
  app.add_option("--batch", question.batch);
  app.add_option("--recompute", recompute);
  app.add_option("--data-reduction", data);
  app.add_option("--micro-batches", question.options.micro_batches);
  app.add_option("--modes", question.modes);
  app.add_option("--repetitions", question.repetitions)->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return run_session(argc, argv, [&](const Session& session) {
    question.model = read_model(model);
    question.grid = ProcessGrid::parse(grid);
    question.options.precision = Precision::fp32;
    question.options = step_fields().with(question.options, "--recompute", recompute);
    question.options = step_fields().with(question.options, "--data-reduction", data);
    Measurement measurement(question, session.rank());
    measurement.run();
    measurement.report(session.rank() == 0);
    return 0;
  });
}

}  // namespace
}  // namespace fourfold::inline microbench

int main(int argc, char** argv) {
  return fourfold::run(argc, argv);
}
