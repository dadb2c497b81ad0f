// Question: of the communication in a training step that the schedule allows to hide, how much does
// the engine hide, with all overlaps on, in each way to progress?
//
// Three walks over the same operations, on the same ranks, in turn within each repetition; a time
// is the slowest rank's from a common barrier:
//
//   t_apart   every wait moved right behind its start: nothing is hidden
//   t_total   the stream as the schedule issues it, in each way to progress
//   t_ideal   not run, but walked over the durations of t_apart (medians by operation): compute as
//             long as alone, collectives one after the other on one link (a loopback is one) from
//             the moment they are started, no work for the CPU, no call ever late
//
// What the schedule moves apart is every collective with compute between its start and its wait;
// t_moved is how long those take in t_apart. What it allows to hide of them is t_apart - t_ideal: a
// collective that lasts longer than the compute it stands beside can be hidden only in part. By
// OSU's formula, 100 max(0, 1 - (t_total - t_compute) / t_communication), with t_communication =
// t_apart - t_ideal and t_compute = t_ideal (all that must take time even so: kernels, forward
// all-reduces, the first gather). `of all moved` is the same with t_communication = t_moved and
// t_compute = t_apart - t_moved, as if compute were always long enough.
//
// Both count the CPU's work for messages as not hidden. Run it under a limited network:
// microbench/training_overlap.sh.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "engine/batch.hpp"
#include "engine/executor.hpp"
#include "engine/kernels/tuned_backend.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/mpi/lanes.hpp"
#include "engine/mpi/session.hpp"
#include "engine/train/words.hpp"
#include "schedule/liveness.hpp"
#include "schedule/schedule.hpp"
#include "schedule/transformer.hpp"

namespace fourfold {
namespace {

struct Question {
  Model model = read_model("gpt2-mini");
  ProcessGrid grid;
  StepOptions options;
  std::int64_t batch = 16;
  std::int64_t repetitions = 7;
};

double median(std::vector<double> sample) {
  std::nth_element(sample.begin(), sample.begin() + std::ptrdiff_t(sample.size() / 2),
                   sample.end());
  return sample[sample.size() / 2];
}

double over_ranks(double own, MPI_Op operation) {
  double all = 0.0;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
  return all;
}
double slowest(double own) {
  return over_ranks(own, MPI_MAX);
}
double mean(double own) {
  return over_ranks(own, MPI_SUM) / static_cast<double>(size_of(MPI_COMM_WORLD));
}

// The same operations, each collective waited for where it starts.
Schedule apart(Schedule schedule) {
  std::vector<Issue> stream;
  for (const Issue& issue : schedule.stream) {
    if (issue.kind != IssueKind::compute && issue.kind != IssueKind::start) continue;
    stream.push_back(issue);
    if (issue.kind == IssueKind::start) {
      stream.push_back({IssueKind::wait, issue.id, 0, Existence::always, Axis::x});
    }
  }
  schedule.stream = std::move(stream);
  insert_lifetimes(schedule);
  return schedule;
}

// By operation: whether compute stands between start and wait.
std::vector<bool> moved_apart(const Schedule& schedule, const ProcessGrid& grid) {
  std::vector<bool> moved(schedule.program.ops.size(), false);
  std::map<std::int32_t, std::int64_t> begun;  // operation to the kernels before its start
  std::int64_t kernels = 0;
  for (const Issue& issue : schedule.stream) {
    const Op& op = schedule.program.ops[static_cast<std::size_t>(issue.id)];
    if (issue.kind == IssueKind::compute && op.kind != OpKind::pack && op.kind != OpKind::unpack) {
      ++kernels;
    }
    if (issue.kind == IssueKind::start && grid.extent(op.axis) > 1) begun[issue.id] = kernels;
    if (issue.kind != IssueKind::wait) continue;
    const auto start = begun.find(issue.id);
    moved[static_cast<std::size_t>(issue.id)] = start != begun.end() && start->second < kernels;
  }
  return moved;
}

double ideal_seconds(const Schedule& schedule, const std::vector<double>& duration) {
  double now = 0.0, link_free = 0.0;
  std::vector<double> arrival(duration.size(), 0.0);
  for (const Issue& issue : schedule.stream) {
    const auto op = static_cast<std::size_t>(issue.id);
    if (issue.kind == IssueKind::compute) now += duration[op];
    if (issue.kind == IssueKind::start) {
      arrival[op] = duration[op] == 0.0 ? now : std::max(now, link_free) + duration[op];
      if (duration[op] > 0.0) link_free = arrival[op];
    }
    if (issue.kind == IssueKind::wait) now = std::max(now, arrival[op]);
  }
  return now;
}

LocalBatch local_batch(const Question& question, std::int64_t rank) {
  const Batch batch = random_batch(question.model, question.batch, 1);
  const std::int64_t micro_batches = question.options.micro_batches;
  const std::int64_t tokens = question.batch / micro_batches * question.model.sequence;
  LocalBatch local;
  local.sequences = question.batch;
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    const Share part = share(question.grid, rank, i, tokens);
    const auto take = [&](const std::vector<std::int32_t>& from, std::vector<std::int32_t>& to) {
      to.insert(to.end(), from.begin() + part.first, from.begin() + part.first + part.count);
    };
    take(batch.tokens, local.tokens);
    take(batch.targets, local.targets);
  }
  return local;
}

// One way to walk, and what its steps took.
struct Walk {
  std::string title;
  std::unique_ptr<Lanes> lanes;
  std::unique_ptr<Executor> executor;
  std::vector<double> seconds;                          // of the slowest rank
  std::vector<double> gained;                           // t_apart - t_total of the same repetition
  std::array<std::vector<double>, lane_count> exposed;  // this rank's
  std::vector<double> moved_waits;                      // this rank's, of what is moved apart
};

class Measurement {
 public:
  Measurement(const Question& question, std::int64_t rank)
      : question_(question),
        schedule_(issue(record_step(question.model, question.options), question.options)),
        moved_(moved_apart(schedule_, question.grid)),
        weights_(schedule_.program, question.grid, rank),
        batch_(local_batch(question, rank)),
        durations_(schedule_.program.ops.size()) {
    weights_.initialise(question.model, 1);
    add("apart", apart(schedule_), ProgressMode::none);
    for (ProgressMode mode : {ProgressMode::tiles, ProgressMode::thread, ProgressMode::none}) {
      add(name(mode), schedule_, mode);
    }
  }

  void run() {
    for (Walk& walk : walks_) step(walk);
    for (std::int64_t i = 0; i < question_.repetitions; ++i) {
      for (Walk& walk : walks_) record(walk, step(walk));
    }
  }

  void report(bool speaks) const {
    std::vector<double> duration(durations_.size(), 0.0);
    double moved = 0.0, kernels = 0.0, fixed = 0.0;
    for (std::size_t op = 0; op < durations_.size(); ++op) {
      if (durations_[op].empty()) continue;
      duration[op] = median(durations_[op]);
      const bool collective = is_collective(schedule_.program.ops[op].kind);
      (moved_[op] ? moved : collective ? fixed : kernels) += duration[op];
    }
    double alone = 0.0;
    for (double seconds : duration) alone += seconds;
    const double hideable = mean(alone - ideal_seconds(schedule_, duration));
    const double all_moved = mean(moved), compute = mean(kernels), not_moved = mean(fixed);
    if (speaks) {
      std::printf(
          "\ngrid %s, batch %lld, recompute %s, data reduction %s: kernels %.0f ms; moved "
          "apart %.0f ms (%.0f %% of kernels), of which the schedule allows to hide %.0f "
          "ms; never moved %.0f ms\n",
          question_.grid.str().c_str(), static_cast<long long>(question_.batch),
          name(question_.options.recompute), name(question_.options.data_reduction), compute * 1e3,
          all_moved * 1e3, 100 * all_moved / compute, hideable * 1e3, not_moved * 1e3);
      std::printf("%-8s %8s %8s %14s %12s   exposed ms:", "walk", "step ms", "hidden %",
                  "of all moved %", "moved waits");
      for (Lane lane : all_lanes) std::printf(" %8s", name(lane));
      std::printf("\n");
    }
    for (const Walk& walk : walks_) say(walk, hideable, all_moved, speaks);
  }

 private:
  void add(const std::string& title, const Schedule& schedule, ProgressMode mode) {
    Walk walk;
    walk.title = title;
    walk.lanes = std::make_unique<Lanes>(question_.grid, Transport::ring, mode);
    Lanes& lanes = *walk.lanes;
    LaneCommunicators communicators{};
    for (Lane lane : all_lanes) communicators[static_cast<std::size_t>(lane)] = &lanes[lane];
    walk.executor =
        std::make_unique<Executor>(question_.model, schedule, question_.batch, weights_, backend_,
                                   communicators, [&lanes] { lanes.between_tiles(); });
    walks_.push_back(std::move(walk));
  }

  ExecutedStep step(Walk& walk) {
    MPI_Barrier(MPI_COMM_WORLD);
    return walk.executor->step(batch_, AdamW{}, ++steps_);
  }

  void record(Walk& walk, const ExecutedStep& step) {
    walk.seconds.push_back(slowest(step.seconds));
    walk.gained.push_back(walks_.front().seconds.back() - walk.seconds.back());
    for (std::size_t lane = 0; lane < walk.exposed.size(); ++lane) {
      walk.exposed[lane].push_back(step.exposed_seconds[lane]);
    }
    double moved_waits = 0.0;
    for (const Span& span : step.spans) {
      const auto op = static_cast<std::size_t>(span.op);
      if (moved_[op]) moved_waits += span.waited;
      if (&walk == &walks_.front()) durations_[op].push_back(span.end - span.start);
    }
    walk.moved_waits.push_back(moved_waits);
  }

  void say(const Walk& walk, double hideable, double moved, bool speaks) const {
    const double gained = median(walk.gained);
    const double waits = mean(median(walk.moved_waits));
    if (speaks) {
      std::printf("%-8s %8.0f %8.0f %14.0f %12.1f               ", walk.title.c_str(),
                  median(walk.seconds) * 1e3, 100 * std::max(0.0, gained / hideable),
                  100 * std::max(0.0, gained / moved), waits * 1e3);
    }
    for (const std::vector<double>& lane : walk.exposed) {
      const double exposed = mean(median(lane));
      if (speaks) std::printf(" %8.1f", exposed * 1e3);
    }
    if (speaks) std::printf("\n");
  }

  Question question_;
  Schedule schedule_;
  std::vector<bool> moved_;
  Weights weights_;
  LocalBatch batch_;
  TunedBackend backend_;
  std::vector<Walk> walks_;                     // the first one hides nothing
  std::vector<std::vector<double>> durations_;  // by operation, this rank's, nothing hidden
  std::int64_t steps_ = 0;
};

int run(int argc, char** argv) {
  Question question;
  std::string model = "gpt2-mini", grid = "1x1x2x1", recompute = "none", data = "after-backward";
  CLI::App app("How much communication of a training step is hidden");
  app.add_option("--model", model);
  app.add_option("--grid", grid);
  app.add_option("--batch", question.batch);
  app.add_option("--recompute", recompute);
  app.add_option("--data-reduction", data);
  app.add_option("--micro-batches", question.options.micro_batches);
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
    question.options.recompute =
        choice_named<Recompute>("recompute", recompute, {Recompute::none, Recompute::full});
    question.options.data_reduction = choice_named<DataReduction>(
        "data reduction", data, {DataReduction::after_backward, DataReduction::beside_backward});
    Measurement measurement(question, session.rank());
    measurement.run();
    measurement.report(session.rank() == 0);
    return 0;
  });
}

}  // namespace
}  // namespace fourfold

int main(int argc, char** argv) {
  return fourfold::run(argc, argv);
}
