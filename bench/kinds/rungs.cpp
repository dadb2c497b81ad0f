// Points of three models, one after the other; see rungs.hpp.
#include "bench/kinds/rungs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/kinds/gathered.hpp"
#include "bench/measure/turns.hpp"
#include "scaling/jobs/launch.hpp"
#include "schedule/models/model_file.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/replay_answer.hpp"

namespace fourfold::inline bench::inline kinds {

namespace {

struct Case {
  const char* model;
  ProcessGrid grid;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{{"gpt-5b", ProcessGrid(2, 2, 2, 4)},
                                     {"gpt-20b", ProcessGrid(4, 2, 4, 8)},
                                     {"gpt-80b", ProcessGrid(8, 4, 8, 8)}};
  return all;
}

Point point_of(const BenchQuestion& question, const Case& one) {
  Point point;
  point.platform = question.platform;
  point.model = read_model(one.model);
  point.grid = one.grid;
  return point;
}

// Without the name of who says it, and its line's end.
std::string sentence_of_replay(std::string complaint) {
  constexpr std::string_view end_of_name = ": ";
  const std::size_t name = complaint.find(end_of_name);
  if (name != std::string::npos) complaint.erase(0, name + end_of_name.size());
  while (complaint.ends_with('\n')) complaint.pop_back();
  return complaint;
}

std::string name_of(const Case& one) {
  return fmt::format("{} on {} devices, {}", one.model, one.grid.size(), one.grid.str());
}

}  // namespace

BenchTable bench_estimate(const BenchQuestion& question) {
  const Platform platform = read_platform(question.platform);
  std::vector<Take> takes;
  for (const Case& one : cases()) {
    takes.push_back([&platform, point = point_of(question, one)] {
      return cpu_seconds([&] { static_cast<void>(estimate_step(point, platform)); });
    });
  }
  const std::vector<Sample> seconds = slowest_of_ranks(take_turns(takes, {question.rounds, 1}));
  BenchTable table{"estimate",
                   "point",
                   {{"points", "per s"}},
                   {},
                   "CPU time of one estimate by itself, from the recorded step to the last second; "
                   "a search records once for all its grids and is faster a point. Right: no two "
                   "runs differ in a bit."};
  std::size_t i = 0;
  for (const Case& one : cases()) {
    const Point point = point_of(question, one);
    const bool same = estimate_step(point, platform).outcome.total.value ==
                      estimate_step(point, platform).outcome.total.value;
    table.rows.push_back({name_of(one), seconds[i], {1.0 / median(seconds[i])}, same});
    ++i;
  }
  return table;
}

BenchTable bench_simulate(const BenchQuestion& question) {
  const std::string executable = beside_this_executable("fourfold-replay");
  BenchTable table{"simulate",
                   "point",
                   {{"collectives", "1000"}, {"us of CPU", "each"}, {"peak", "MiB"}},
                   {},
                   "CPU time of fourfold-replay, with its start and the building of the machine. "
                   "Right: no two runs differ in a bit."};
  const std::int64_t rounds = std::max<std::int64_t>(3, question.rounds / 4);
  for (const Case& one : cases()) {
    ReplayAnswer last;
    bool same = true;
    const std::string input = to_json(point_of(question, one)) + "\n";
    const Take take = [&] {
      const JobResult result = run_side_by_side({{{executable}, input}}).front();
      if (result.status != 0) {
        throw std::runtime_error(
            fmt::format("{}: {}", name_of(one), sentence_of_replay(result.complaint)));
      }
      const double before = last.outcome.total.value;
      last = replay_answer_from_json(result.output);
      same = same && (before == 0.0 || before == last.outcome.total.value);
      return last.cpu_s;
    };
    const Sample seconds = take_turns({take}, {rounds, 1}).front();
    const auto collectives = static_cast<double>(last.collectives);
    table.rows.push_back(
        {name_of(one),
         seconds,
         {1e-3 * collectives, 1e6 * median(seconds) / collectives, last.peak_rss_MiB},
         same});
  }
  return table;
}

}  // namespace fourfold::inline bench::inline kinds
