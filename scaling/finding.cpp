// Search, then guided simulation in waves of two processes; see finding.hpp.
#include "scaling/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "scaling/candidates.hpp"
#include "scaling/launch.hpp"

namespace fourfold {
namespace {

constexpr std::size_t processes_at_a_time = 2;
constexpr double search_share = 0.1;  // of the work of a question, for the time left

ReplayAnswer answer_of(const JobResult& result, const Point& point) {
  if (result.status != 0) {
    const std::size_t end = result.complaint.find_last_not_of('\n');
    const std::string said = end == std::string::npos ? "" : result.complaint.substr(0, end + 1);
    const std::string why =
        said.empty() ? fmt::format("it ended with status {} and said nothing{}", result.status,
                                   result.status == 137 ? " (out of memory?)" : "")
                     : said.substr(said.rfind('\n') + 1);
    throw FindingFailed(fmt::format("the simulation of {} on {} grid {} failed: {}",
                                    point.model.name, point.platform, point.grid.str(), why));
  }
  return replay_answer_from_json(result.output);
}

std::vector<double> totals(const std::vector<Candidate>& candidates, std::size_t count) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i) {
    seconds.push_back(candidates[i].estimate.outcome.total.value);
  }
  return seconds;
}

std::vector<double> totals(const std::vector<ReplayAnswer>& answers) {
  std::vector<double> seconds;
  for (const ReplayAnswer& answer : answers) seconds.push_back(answer.outcome.total.value);
  return seconds;
}

// Simulates the next candidates of `finding`, as many as run side by side and the rule allows.
void simulate_wave(const Question& question, const StoppingRule& rule, Finding& finding) {
  const std::size_t first = finding.simulated.size();
  const std::size_t allowed =
      std::min(static_cast<std::size_t>(std::max<std::int64_t>(rule.at_most, 1)),
               finding.search.feasible.size());
  const std::size_t last = std::min(first + processes_at_a_time, allowed);
  const std::string executable = beside_this_executable("fourfold-replay");
  std::vector<Point> points;
  std::vector<Job> jobs;
  for (std::size_t i = first; i < last; ++i) {
    const Candidate& candidate = finding.search.feasible[i];
    points.push_back(point_of(question, candidate.grid, candidate.micro_batches));
    jobs.push_back({{executable}, to_json(points.back()) + '\n'});
  }
  const std::vector<JobResult> results = run_side_by_side(jobs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    finding.simulated.push_back(answer_of(results[i], points[i]));
  }
}

}  // namespace

std::optional<double> Finding::tau() const {
  if (simulated.size() < 2) return std::nullopt;
  return kendall_tau(totals(search.feasible, simulated.size()), totals(simulated));
}

std::optional<double> Finding::regret() const {
  if (simulated.size() < 2) return std::nullopt;
  return top1_regret(totals(search.feasible, simulated.size()), totals(simulated));
}

Finding find(const Question& question, Fidelity fidelity, const StoppingRule& rule,
             const Watch& watch) {
  const Platform platform = read_platform(question.platform, question.scales);
  const double share = fidelity == Fidelity::simulated ? search_share : 1.0;
  Finding finding;
  finding.search = candidates(question, platform, [&](const std::string& activity, double done) {
    watch(activity, done * share);
  });
  if (fidelity == Fidelity::estimated) return finding;

  const std::vector<double> estimated =
      totals(finding.search.feasible, finding.search.feasible.size());
  finding.verdict = judge(estimated, {}, rule);
  while (*finding.verdict == Verdict::go_on) {
    const std::size_t done = finding.simulated.size();
    const double part =
        static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(rule.at_most, 1));
    watch(fmt::format("simulated {} of at most {} grids", done, rule.at_most),
          share + (1.0 - share) * part);
    simulate_wave(question, rule, finding);
    finding.verdict = judge(estimated, totals(finding.simulated), rule);
  }
  const std::vector<double> seconds = totals(finding.simulated);
  finding.chosen =
      static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
  return finding;
}

}  // namespace fourfold
