// Search, then guided simulation in waves of two processes; see find_answer.hpp.
#include "scaling/find/find_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "platforms/network/topology.hpp"
#include "scaling/find/settle.hpp"
#include "scaling/jobs/launch.hpp"
#include "scaling/records/simulation_failed.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/conditions/link_faults.hpp"
#include "sim/cost/lower.hpp"
#include "sim/question/replay_answer.hpp"
#include "support/plain_sentence.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

constexpr std::size_t processes_at_a_time = 2;
// A safety net only, far slower than any machine: what a study leaves out must not depend on speed.
constexpr std::int64_t least_units_a_second = 2'000'000;
constexpr double uniform_share = 0.5;     // of the work of a question with a last simulation
constexpr double simulations_work = 9.0;  // of a question, in searches, for the time left

// The last line that a failed simulation wrote to standard error, or what can be said without one.
std::string reason_of(const JobResult& result) {
  const std::size_t end = result.complaint.find_last_not_of('\n');
  if (end == std::string::npos) {
    return fmt::format("it {} and said nothing", ending_text(result));
  }
  const std::string said = result.complaint.substr(0, end + 1);
  return said.substr(said.rfind('\n') + 1);
}

std::vector<double> estimated_seconds(const Finding& finding) {
  std::vector<double> seconds;
  for (const Candidate& candidate : finding.search.feasible) {
    seconds.push_back(candidate.estimate.outcome.total.value);
  }
  return seconds;
}

std::vector<std::optional<double>> simulated_seconds(const Finding& finding) {
  std::vector<std::optional<double>> seconds;
  for (const std::optional<ReplayAnswer>& answer : finding.simulated) {
    seconds.push_back(answer ? std::optional(answer->outcome.total.value) : std::nullopt);
  }
  return seconds;
}

// Simulates the next candidates of `finding`, as many as run side by side and the rule allows.
// `hear` is told how many of them are done, in parts.
void simulate_wave(const Question& question, const StoppingRule& rule, Finding& finding,
                   const std::function<void(double)>& hear) {
  const std::size_t first = finding.simulated.size();
  const std::size_t allowed =
      std::min(static_cast<std::size_t>(std::max<std::int64_t>(rule.at_most, 1)),
               finding.search.feasible.size());
  const std::size_t last = std::min(first + processes_at_a_time, allowed);
  const std::string executable = beside_this_executable("fourfold-replay");
  std::vector<Point> points;
  std::vector<Job> jobs;
  // A grid that somebody asked for is answered, however long it takes.
  std::vector<std::string> command{executable, "--progress"};
  const bool limited = finding.search.feasible.size() > 1;
  if (limited) {
    command.insert(command.end(), {"--work-limit", std::to_string(rule.work_limit)});
  }
  const std::int64_t net = rule.work_limit / least_units_a_second + 1;
  for (std::size_t i = first; i < last; ++i) {
    const Candidate& candidate = finding.search.feasible[i];
    points.push_back(point_of(question, candidate.grid, candidate.micro_batches));
    jobs.push_back({command, to_json(points.back()) + '\n', limited ? net : 0});
  }
  std::vector<double> done(jobs.size(), 0.0);
  const std::vector<JobResult> results = run_side_by_side(jobs, [&](std::size_t job, double part) {
    done[job] = part;
    hear(std::accumulate(done.begin(), done.end(), 0.0));
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    finding.simulated.push_back(answer_of(results[i], points[i]));
  }
}

}  // namespace

std::optional<ReplayAnswer> answer_of(const JobResult& result, const Point& point) {
  if (result.status == over_cpu_limit || result.status == over_work_limit) return std::nullopt;
  if (result.status != 0) {
    throw SimulationFailed(fmt::format("the simulation of {} on {} grid {} failed: {}",
                                       point.model.name, point.platform, point.grid.str(),
                                       reason_of(result)));
  }
  return replay_answer_from_json(result.output);
}

namespace {

// The part of a question's work that its searches are.
double search_share(const Question& question, Fidelity fidelity) {
  if (!simulates(fidelity)) return 1.0;
  const auto searches = static_cast<double>(std::max<std::size_t>(question.variants.size(), 1));
  return searches / (searches + simulations_work);
}

// Where a model has chosen the grids, all of them are simulated.
StoppingRule rule_for(const Question& question, StoppingRule rule) {
  if (question.grids_by != GridsBy::estimate) rule.at_least = rule.at_most = grids_of_a_model;
  return rule;
}

// A tuning takes effect where it can; refused is what none of the grids can use, in the words of
// the first. Placements by devices say in how many nodes groups lie.
void refuse_idle_tuning(Question asked, const StepOptions& options, const SearchResult& search,
                        const Platform& platform) {
  asked.options = options;
  std::string first;
  std::vector<ProcessGrid> seen;
  for (const Candidate& candidate : search.feasible) {
    if (std::ranges::count(seen, candidate.grid) > 0) continue;
    seen.push_back(candidate.grid);
    const std::string why =
        idle_tuning(point_of(asked, candidate.grid, candidate.micro_batches), platform);
    if (why.empty()) return;
    if (first.empty()) first = why;
  }
  throw FindingFailed(first);
}

// What is found where ranks and links are alike.
Finding find_uniform(const Question& stated, Fidelity fidelity, const StoppingRule& stated_rule,
                     const ProgressWatch& watch) {
  const Question asked = uniform(stated);
  const StoppingRule rule = rule_for(asked, stated_rule);
  const Platform platform = read_platform(asked.platform, asked.scales, asked.software);
  const double share = search_share(asked, fidelity);
  Settled found = settled(asked, platform, [&](const std::string& activity, double done) {
    watch(activity, done * share);
  });
  const Question& question = found.question;
  Finding finding;
  finding.options = question.options;
  finding.search = std::move(found.search);
  refuse_idle_tuning(stated, finding.options, finding.search, platform);
  if (fidelity == Fidelity::estimated) return finding;

  const std::vector<double> estimated = estimated_seconds(finding);
  finding.verdict = judge(estimated, {}, rule);
  while (*finding.verdict == Verdict::go_on) {
    const std::size_t done = finding.simulated.size();
    const auto most = std::min(rule.at_most, static_cast<std::int64_t>(estimated.size()));
    const auto hear = [&](double more) {
      const double part =
          (static_cast<double>(done) + more) / static_cast<double>(std::max<std::int64_t>(most, 1));
      watch(fmt::format("simulated {:.1f} of at most {}{}", static_cast<double>(done) + more,
                        counted(most, "grid"),
                        most > 1 ? fmt::format(", each up to {:.3g} units of work",
                                               static_cast<double>(rule.work_limit))
                                 : ""),
            share + (1.0 - share) * part);
    };
    hear(0.0);
    simulate_wave(question, rule, finding, hear);
    finding.verdict = judge(estimated, simulated_seconds(finding), rule);
  }
  const std::vector<std::optional<double>> seconds = simulated_seconds(finding);
  const auto best =
      std::min_element(seconds.begin(), seconds.end(),
                       [](const auto& a, const auto& b) { return a && (!b || *a < *b); });
  if (best == seconds.end() || !*best) {
    throw FindingFailed(
        fmt::format("each of {} simulations took more than {} units of work; ask for a "
                    "higher --work-limit or for --fidelity estimated",
                    seconds.size(), rule.work_limit));
  }
  finding.chosen = static_cast<std::size_t>(best - seconds.begin());
  return finding;
}

// What can be refused before anything is searched.
void refuse_early(const Question& question, Fidelity fidelity, const Platform& platform) {
  if (question.what_ifs.uniform() || question.devices < 1) return;
  const ProcessGrid any(question.devices, 1, 1, 1);
  try {
    const Point point = point_of(question, any, 1);
    const std::vector<std::string> wanted = sentences(question.what_ifs, question.devices);
    if (fidelity == Fidelity::estimated) {
      throw FindingFailed(fmt::format(
          "the estimate takes all ranks and links as alike, so '{}' cannot take effect; ask for "
          "--fidelity simulated",
          wanted.front()));
    }
    const Mapping mapping = mapping_of(point, platform);
    compute_factors(point, mapping);
    refuse_idle_jitter(question.what_ifs, platform);
    const Topology topology(platform, mapping.nodes(platform.node.devices),
                            folded_step(point.model, point.options).channels.size());
    const WhatIfs& what_ifs = question.what_ifs;
    FaultyLinks({what_ifs.degrade, what_ifs.fail, what_ifs.background}, topology, platform);
  } catch (const FindingFailed&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw FindingFailed(plain_sentence(error));
  }
}

}  // namespace

Finding find_answer(const Question& asked, Fidelity fidelity, const StoppingRule& rule,
                    const ProgressWatch& watch, DetailWanted detail) {
  const Platform platform = read_platform(asked.platform, asked.scales, asked.software);
  refuse_early(asked, fidelity, platform);
  const bool alike = asked.what_ifs.uniform();
  const bool once_more = simulates(fidelity) && (!alike || fidelity != Fidelity::simulated ||
                                                 detail != DetailWanted::none);
  const double share = once_more ? uniform_share : 1.0;
  Finding finding = find_uniform(
      asked, fidelity, rule,
      [&](const std::string& activity, double done) { watch(activity, done * share); });
  const Candidate& best = finding.best();
  Question question = asked;
  question.options = finding.options;
  const Point point = point_of(question, best.grid, best.micro_batches);
  if (!once_more) return finding;
  const std::string activity =
      alike ? "simulating the best grid once more" : "simulating with what-ifs";
  std::vector<std::string> arguments;
  if (fidelity != Fidelity::simulated) arguments = {"--fidelity", name(fidelity)};
  const std::string wanted = detail == DetailWanted::explanation ? "--explain"
                             : detail == DetailWanted::timeline  ? "--timeline"
                                                                 : "";
  if (!wanted.empty()) arguments.push_back(wanted);
  watch(activity, share);
  finding.last = simulate(point, arguments,
                          [&](double done) { watch(activity, share + (1.0 - share) * done); });
  return finding;
}

ReplayAnswer simulate(const Point& point, const std::vector<std::string>& arguments,
                      const std::function<void(double)>& watch) {
  Job job{{beside_this_executable("fourfold-replay"), "--progress"}, to_json(point) + '\n', 0};
  job.command.insert(job.command.end(), arguments.begin(), arguments.end());
  const auto hear = [&](std::size_t, double done) { watch(done); };
  return answer_of(run_side_by_side({job}, hear).front(), point).value();
}

}  // namespace fourfold::inline scaling::inline find
