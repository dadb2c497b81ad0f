// Records from findings; see record.hpp.
#include "scaling/records/record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platforms/device_memory.hpp"
#include "platforms/platform.hpp"
#include "schedule/models/model_flops.hpp"
#include "sim/cost/paper_model.hpp"

namespace fourfold::inline scaling::inline records {
namespace {

constexpr std::size_t best_grid_count = 10;

GridSeconds grid_seconds(const Finding& finding, std::size_t index, const Platform& platform) {
  const Candidate& candidate = finding.search.feasible[index];
  GridSeconds seconds{candidate.grid,
                      candidate.micro_batches,
                      candidate.estimate.outcome.total,
                      {},
                      paper_communication(candidate.estimate.counts, candidate.grid, platform)};
  if (index < finding.simulated.size() && finding.simulated[index]) {
    seconds.simulated = finding.simulated[index]->outcome.total;
  }
  return seconds;
}

// Candidates are sorted, so the first of a grid has its best micro-batches by estimate; the
// winner's grid is shown with the micro-batches that won.
std::vector<GridSeconds> ten_best_grids(const Finding& finding, std::size_t chosen,
                                        const Platform& platform) {
  std::vector<GridSeconds> best;
  const std::size_t count = finding.search.feasible.size();
  for (std::size_t i = 0; i < count && best.size() < best_grid_count; ++i) {
    const ProcessGrid& grid = finding.search.feasible[i].grid;
    const bool known = std::any_of(best.begin(), best.end(),
                                   [&](const GridSeconds& other) { return other.grid == grid; });
    const bool winner = grid == finding.search.feasible[chosen].grid;
    if (!known) best.push_back(grid_seconds(finding, winner ? chosen : i, platform));
  }
  return best;
}

// Least communication by the paper's model, which knows no pipelines; the first of equals, which is
// the faster by estimate.
GridSeconds paper_choice(const Finding& finding, const Platform& platform) {
  GridSeconds choice = grid_seconds(finding, 0, platform);
  for (std::size_t i = 1; i < finding.search.feasible.size(); ++i) {
    const GridSeconds other = grid_seconds(finding, i, platform);
    if (other.grid.extent(Axis::pipe) > 1) continue;
    if (choice.grid.extent(Axis::pipe) > 1 || other.paper < choice.paper) choice = other;
  }
  return choice;
}

}  // namespace

Seconds seconds_without_what_ifs(const Record& record) {
  return record.uniform ? *record.uniform : record.outcome.total;
}

Seconds seconds_of(const GridSeconds& grid, const Record& record) {
  if (simulates(record.fidelity) && grid.simulated) return *grid.simulated;
  return grid.estimated * (seconds_without_what_ifs(record) / record.estimated);
}

bool ties(const std::optional<ErrorBar>& bar, Seconds faster, Seconds slower) {
  return bar && slower / faster - 1.0 < bar->tie;
}

Spread spread(const Record& record) {
  const Seconds own = seconds_without_what_ifs(record);
  Spread spread{own, own};
  for (const GridSeconds& grid : record.best_grids) {
    const Seconds seconds = seconds_of(grid, record);
    spread.least = std::min(spread.least, seconds);
    spread.most = std::max(spread.most, seconds);
  }
  return spread;
}

std::string record_key(const Question& question, Fidelity fidelity, const StoppingRule& rule,
                       const std::string& executables) {
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  nlohmann::json parts{{"question", json_of(question)},
                       {"fidelity", name(fidelity)},
                       {"platform", digest_of_file(platform.path)},
                       {"software", digest_of_file(platform.software.path)},
                       {"executables", executables},
                       {"residuals", digest_of_file(residuals_file())}};
  if (simulates(fidelity)) {
    parts["rule"] = {rule.at_least, rule.at_most, rule.margin, rule.work_limit};
  }
  return digest(parts.dump());
}

Record make_record(const Question& question, const Finding& finding, Fidelity fidelity,
                   const StoppingRule& rule) {
  const bool simulated = simulates(fidelity);
  const std::size_t chosen = simulated ? finding.chosen : 0;
  const Candidate& winner = finding.search.feasible.at(chosen);
  const Platform platform = read_platform(question.platform, question.scales, question.software);
  Record record;
  record.key = record_key(question, fidelity, rule);
  record.fidelity = fidelity;
  // What an estimate cannot take into account is not said of it.
  Question answered = simulated ? question : uniform(question);
  answered.options = finding.options;
  record.point = point_of(answered, winner.grid, winner.micro_batches);
  record.outcome = simulated ? finding.outcome() : winner.estimate.outcome;
  record.estimated = winner.estimate.outcome.total;
  record.memory = winner.estimate.memory.peak;
  if (winner.estimate.stage_memory.size() > 1) {
    for (const MemoryUse& use : winner.estimate.stage_memory) {
      record.memory_by_stage.push_back(use.peak);
    }
  }
  for (const MemoryUse& use : winner.estimate.stage_memory) {
    record.memory_on_host = std::max(record.memory_on_host, use.on_host);
  }
  record.memory_by_role = winner.estimate.memory.by_role;
  record.memory_limit = memory_limit(platform);
  record.chance_to_fit = chance_to_fit(record.memory, platform);
  record.executed = winner.estimate.counts.executed();
  const Counts& counts = winner.estimate.counts;
  record.sent.assign(counts.sent.begin(), counts.sent.end());
  record.model_flops = model_flops(record.point.model, record.point.global_batch,
                                   record.point.options, record.point.grid.extent(Axis::pipe));
  record.advertised_peak = platform.processor.advertised_peak;
  record.empirical_peak = platform.processor.empirical_peak;
  record.tried = finding.search.tried;
  record.feasible = static_cast<std::int64_t>(finding.search.feasible.size());
  for (const auto& [reason, count] : finding.search.rejected) {
    record.rejected[name(reason)] = count;
  }
  record.best_grids = ten_best_grids(finding, chosen, platform);
  record.paper_choice = paper_choice(finding, platform);
  if (simulated) {
    for (std::size_t i = 0; i < finding.simulated.size(); ++i) {
      if (finding.simulated[i]) {
        record.simulated.push_back(grid_seconds(finding, i, platform));
      } else {
        ++record.left_out;
      }
    }
    record.verdict = name(finding.verdict.value());
    record.tau = finding.tau();
    record.regret = finding.regret();
    record.replay = finding.simulated.at(chosen);
    if (finding.last) {
      if (!question.what_ifs.uniform()) record.uniform = record.replay->outcome.total;
      record.replay = finding.last;
    }
  } else {
    for (GridSeconds& grid : record.best_grids) grid.simulated.reset();
  }
  record.bar = error_bar(record.point);
  const StepSpread varies = step_spread(record.point, platform);
  if (varies != StepSpread{}) record.varies = varies;
  if (question.system) {
    record.system = question.system->name;
    record.set_by = question.set_by;
  }
  record.software = platform.software.name;
  record.software_by = question.software_by;
  record.platform_title = platform.title;
  record.platform_digest = digest_of_file(platform.path);
  record.provenance = provenance_now();
  return record;
}

}  // namespace fourfold::inline scaling::inline records
