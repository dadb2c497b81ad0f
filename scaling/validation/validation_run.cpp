// Cases one by one, then statistics over them; see validation_run.hpp.
#include "scaling/validation/validation_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>

#include "platforms/device_memory.hpp"
#include "platforms/network/axis_rate.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "scaling/validation/memory_deviations.hpp"
#include "schedule/models/fit.hpp"
#include "sim/cost/protocol.hpp"
#include "sim/estimate/estimate.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline validation {
namespace {

Projection project_as_it_is(const Question& question, Fidelity fidelity,
                            const std::function<void(double)>& watch) {
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  if (question.devices > platform.devices()) {
    throw FindingFailed(fmt::format("{} has {} devices, {} are too many", platform.name,
                                    platform.devices(), question.devices));
  }
  const Point point = point_of(question, *question.grid, *question.micro_batches);
  const std::string reason = misfit(point.model, point.grid, point.global_batch, point.options);
  if (!reason.empty()) throw FindingFailed(reason);
  const Estimate estimated = estimate_step(point, platform);
  Projection projection{point.grid,
                        *question.micro_batches,
                        estimated.outcome,
                        estimated.memory.peak,
                        memory_limit(platform),
                        estimated.stage_memory};
  if (simulates(fidelity)) {
    std::vector<std::string> arguments;
    if (fidelity != Fidelity::simulated) arguments = {"--fidelity", name(fidelity)};
    projection.outcome = simulate(point, arguments, watch).outcome;
  }
  return projection;
}

// What one layer more takes of one micro-batch more: all else cancels.
Projection project_layer(const Question& question, Fidelity fidelity,
                         const std::function<void(double)>& watch) {
  const std::int64_t micro_batch = question.global_batch / *question.micro_batches;
  const auto projected = [&](std::int64_t layers, std::int64_t micro_batches) {
    Question part = question;
    part.model.layers = layers;
    part.micro_batches = micro_batches;
    part.global_batch = micro_batch * micro_batches;
    return project_as_it_is(part, fidelity, watch);
  };
  Projection projection = projected(2, 2);
  const Outcome fewer[]{projected(1, 2).outcome, projected(2, 1).outcome, projected(1, 1).outcome};
  const auto difference = [&](Seconds Outcome::*part) {
    return projection.outcome.*part - fewer[0].*part - fewer[1].*part + fewer[2].*part;
  };
  projection.outcome.total = difference(&Outcome::total);
  projection.outcome.compute = difference(&Outcome::compute);
  projection.outcome.bubble = difference(&Outcome::bubble);
  for (std::size_t c = 0; c < projection.outcome.exposed.size(); ++c) {
    projection.outcome.exposed[c] = projection.outcome.exposed[c] - fewer[0].exposed.at(c) -
                                    fewer[1].exposed.at(c) + fewer[2].exposed.at(c);
  }
  return projection;
}

Projection project_collective(const ValidationCase& one) {
  const Platform platform = read_platform(one.question.platform, one.question.scales);
  const std::int64_t devices = one.question.devices;
  if (devices > platform.devices()) {
    throw FindingFailed(fmt::format("{} has {} devices, {} are too many", platform.name,
                                    platform.devices(), devices));
  }
  const CollectiveTask task{one.collective, one.buffer,
                            packed_group(devices, 1, platform.node.devices),
                            AxisRates(platform).rate(1, devices, devices), devices};
  Projection projection{ProcessGrid(1, 1, 1, devices), 1, {}, {}, {}};
  projection.outcome.total = choose_collective(platform.library, task, {}).uncontended;
  return projection;
}

Projection project_best(const Question& question, Fidelity fidelity,
                        const std::function<void(double)>& watch) {
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  const Finding finding = find_answer(question, fidelity, StoppingRule{},
                                      [&](const std::string&, double done) { watch(done); });
  const Candidate& best = finding.best();
  return {best.grid,
          best.micro_batches,
          finding.outcome(),
          best.estimate.memory.peak,
          memory_limit(platform),
          best.estimate.stage_memory};
}

CaseResult run_case(const ValidationCase& one, Fidelity fidelity,
                    const std::function<void(double)>& watch) {
  CaseResult result{one, {}, one.left_out};
  if (!one.left_out.empty()) return result;
  try {
    const bool known = one.question.grid && one.question.micro_batches;
    if (one.measured == Measured::collective) {
      result.projection = project_collective(one);
    } else if (one.measured == Measured::layer) {
      result.projection = project_layer(one.question, fidelity, watch);
    } else {
      result.projection = known ? project_as_it_is(one.question, fidelity, watch)
                                : project_best(one.question, fidelity, watch);
    }
  } catch (const FindingFailed& error) {
    result.why_not = error.what();
  }
  return result;
}

double largest_gain_difference(const std::vector<double>& published,
                               const std::vector<double>& projected) {
  std::vector<std::size_t> slowest_first(published.size());
  std::iota(slowest_first.begin(), slowest_first.end(), std::size_t{0});
  std::stable_sort(slowest_first.begin(), slowest_first.end(),
                   [&](std::size_t a, std::size_t b) { return published[a] > published[b]; });
  double largest = 0.0;
  for (std::size_t i = 1; i < slowest_first.size(); ++i) {
    const std::size_t slower = slowest_first[i - 1], faster = slowest_first[i];
    const double of_published = 1.0 - published[faster] / published[slower];
    const double of_projected = 1.0 - projected[faster] / projected[slower];
    largest = std::max(largest, std::abs(of_published - of_projected));
  }
  return largest;
}

}  // namespace

std::string configuration_of(const CaseResult& result) {
  nlohmann::json object = json_of(result.one.question);
  object["model"].erase("name");
  return object.dump();
}

std::string choice_of(const CaseResult& result) {
  nlohmann::json object = json_of(result.one.question);
  object["model"].erase("name");
  for (const char* chosen : {"options", "grid", "micro_batches"}) object.erase(chosen);
  return result.one.study + object.dump();
}

SetResult run_validation(const ValidationSet& set, Fidelity fidelity, const WatchSet& watch) {
  SetResult result;
  result.set = set;
  result.set.cases.clear();
  result.fidelity = fidelity;
  const auto all = static_cast<double>(set.cases.size());
  for (std::size_t i = 0; i < set.cases.size(); ++i) {
    stop_if_interrupted();
    const auto tell = [&](double done) {
      watch(set.cases[i].id, (static_cast<double>(i) + done) / all);
    };
    tell(0.0);
    result.cases.push_back(run_case(set.cases[i], fidelity, tell));
  }
  return result;
}

std::vector<std::size_t> cases_that_ran(const SetResult& result, const std::string& study,
                                        SampleSide sample) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    const CaseResult& one = result.cases[i];
    const bool in_sample = !one.one.in_sample.empty();
    if (!one.projection || !one.one.is_published()) continue;
    if (in_sample != (sample == SampleSide::in)) continue;
    if (study.empty() || study == one.one.study) found.push_back(i);
  }
  return found;
}

Deviations deviations_of_cases(const SetResult& result, const std::vector<std::size_t>& cases) {
  std::vector<double> values;
  for (std::size_t i : cases) values.push_back(result.cases[i].deviation());
  Deviations found = deviations_of(values);
  if (!cases.empty()) found.worst = cases[found.worst];
  return found;
}

std::vector<std::string> studies(const SetResult& result) {
  std::vector<std::string> names;
  for (const CaseResult& one : result.cases) {
    if (std::find(names.begin(), names.end(), one.one.study) == names.end()) {
      names.push_back(one.one.study);
    }
  }
  return names;
}

std::vector<Ranking> rankings(const SetResult& result) {
  std::vector<std::string> choices;  // in the order of the file
  std::map<std::string, std::vector<const CaseResult*>> rows;
  for (const CaseResult& one : result.cases) {
    if (!one.projection || !one.one.question.grid || !one.one.is_published()) continue;
    const std::string choice = choice_of(one);
    if (!rows.contains(choice)) choices.push_back(choice);
    rows[choice].push_back(&one);
  }
  std::vector<Ranking> found;
  for (const std::string& choice : choices) {
    Ranking ranking;
    std::map<std::string, std::vector<const CaseResult*>> configurations;
    for (const CaseResult* one : rows[choice]) {
      ranking.study = one->one.study;
      ranking.ids.push_back(one->one.id);
      configurations[configuration_of(*one)].push_back(one);
    }
    ranking.configurations = configurations.size();
    if (ranking.configurations < 3) continue;
    std::vector<double> published, projected;
    for (const auto& [configuration, repeats] : configurations) {
      double sum = 0.0;
      for (const CaseResult* one : repeats) sum += one->one.published.value;
      published.push_back(sum / static_cast<double>(repeats.size()));
      projected.push_back(repeats.front()->projection->outcome.total.value);
    }
    ranking.tau = kendall_tau(projected, published);
    ranking.regret = top1_regret(projected, published);
    ranking.gain_difference = largest_gain_difference(published, projected);
    found.push_back(ranking);
  }
  return found;
}

std::string worse_than_bound(const SetResult& result) {
  if (result.fidelity != Fidelity::estimated) return "";
  if (result.set.memory_bound) return memory_worse_than_bound(result);
  const Deviations out = deviations_of_cases(result, cases_that_ran(result, "", SampleSide::out));
  if (static_cast<std::int64_t>(out.count) < result.set.least_cases) {
    return fmt::format("{}: {} ran out of sample, but at least {} must", result.set.name,
                       counted(static_cast<std::int64_t>(out.count), "case"),
                       result.set.least_cases);
  }
  if (!result.set.bound || out.mean_absolute <= *result.set.bound) return "";
  return fmt::format("{}: {:.2f} % mean absolute deviation is above the bound of {:g} %",
                     result.set.name, 100.0 * out.mean_absolute, 100.0 * *result.set.bound);
}

}  // namespace fourfold::inline scaling::inline validation
