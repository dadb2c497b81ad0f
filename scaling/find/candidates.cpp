// From a question to its candidates; see candidates.hpp.
#include "scaling/find/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "scaling/find/nearby.hpp"
#include "scaling/jobs/interrupt.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/paper_model.hpp"
#include "support/divisors.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

// Room for the bucket is on the device, whether there is state enough to fill it or not.
std::string words_of_bucket(const StepOptions& options) {
  if (!options.offloads()) return "";
  return fmt::format(", with room for --offload-bucket's {} elements", options.offload_bucket);
}

// What is too likely not to fit, and may fit for all that.
std::string words_of_risk(const Question& question, Bytes need, const Platform& platform) {
  const double chance = chance_to_fit(need, platform);
  if (chance <= fits_not_below) return "";
  return fmt::format(": {}, and {} asks for {:.0f} %", fits_text(chance),
                     question.memory_risk ? "--memory-risk" : "what is recommended",
                     100.0 * (1.0 - question.memory_risk.value_or(usual_memory_risk)));
}

// The estimates of one grid, for the micro-batches asked for or for all that divide its batch.
SearchResult candidates_of_grid(const Question& question, const Platform& platform) {
  const ProcessGrid& grid = *question.grid;
  if (grid.size() != question.devices) {
    throw FindingFailed(
        fmt::format("grid {} has {} devices, not {}; choose a grid whose "
                    "extents multiply to the number of devices",
                    grid.str(), grid.size(), question.devices));
  }
  const std::int64_t local_batch =
      std::max<std::int64_t>(question.global_batch / replicas(grid), 1);
  std::vector<std::int64_t> counts = divisors(local_batch);
  if (question.micro_batches) counts = {*question.micro_batches};

  SearchResult result;
  result.tried = static_cast<std::int64_t>(counts.size());
  const Bytes limit = memory_limit(platform, question.memory_risk.value_or(usual_memory_risk));
  Bytes least{std::numeric_limits<double>::max()};
  std::int64_t misfits = 0;
  std::string first_reason;
  for (std::int64_t count : counts) {
    const Point point = point_of(question, grid, count);
    const Misfit why = find_misfit(point.model, grid, point.global_batch, point.options);
    if (why != Misfit::none) {
      if (misfits++ == 0) {
        first_reason = misfit(point.model, grid, point.global_batch, point.options);
      }
      ++result.rejected[rejection(why)];
      continue;
    }
    const Estimate found = estimate_step(point, platform);
    least = std::min(least, found.memory.peak);
    if (found.memory.peak <= limit) {
      result.feasible.push_back({grid, count, found});
    } else {
      ++result.rejected[Rejection::memory];
    }
  }
  if (misfits == result.tried) throw FindingFailed(first_reason);
  if (result.feasible.empty()) {
    throw DoesNotFit(
        fmt::format("{} on grid {} needs at least {:.1f} GB per device, but {} leaves {:.1f} GB of "
                    "{:.4g} GB{}{}",
                    question.model.name, grid.str(), least.value / 1e9, platform.name,
                    memory_limit(platform).value / 1e9, platform.processor.memory.value / 1e9,
                    words_of_bucket(question.options), words_of_risk(question, least, platform)));
  }
  std::erase_if(result.rejected, [](const auto& of_reason) { return of_reason.second == 0; });
  std::stable_sort(result.feasible.begin(), result.feasible.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.estimate.outcome.total < b.estimate.outcome.total;
                   });
  return result;
}

// The first of each grid, which has its best micro-batches by estimate.
void keep_best_of_grids(std::vector<Candidate>& candidates) {
  std::vector<ProcessGrid> seen;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const bool known = std::ranges::count(seen, candidate.grid) > 0;
    if (!known) seen.push_back(candidate.grid);
    return known;
  });
}

// Why the order takes none of the lengths of a pipeline that are asked about, whatever the
// micro-batches; empty if it takes one.
std::string why_no_order(const Question& question) {
  std::string why;
  for (std::int64_t stages : question.stages) {
    StepOptions options = question.options;
    options.micro_batches = stages;  // a multiple of the stages, as the interleaved order asks
    why = order_misfit(options, stages);
    if (why.empty()) break;
  }
  return why;
}

// `counts`: the micro-batches that would fit, if others were asked for.
std::string why_nothing_fits(const Question& question, const Platform& platform,
                             const SearchResult& result, const std::set<std::int64_t>& counts) {
  const std::string with =
      question.micro_batches ? " with " + counted(*question.micro_batches, "micro-batch") : "";
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : result.rejected) {
    reasons.push_back(fmt::format("{} by {}", count, name(reason)));
  }
  std::string of_system = question.system ? " that " + question.system->name + " looks at" : "";
  if (question.grids_by != GridsBy::estimate) {
    of_system = fmt::format(" among the first {} by {}", grids_of_a_model, name(question.grids_by));
  }
  std::string text =
      fmt::format("{} fits no grid of {} of {}{}{}", question.model.name,
                  counted(question.devices, "device"), platform.name, of_system, with);
  if (!counts.empty()) {
    return text + fmt::format("; {} micro-batches would fit", fmt::join(counts, ", "));
  }
  text += fmt::format(" ({} tried{}{})", counted(result.tried, "combination"),
                      reasons.empty() ? "" : ", rejected ", fmt::join(reasons, ", "));
  if (const std::string order = why_no_order(question); !order.empty()) return text + ": " + order;
  if (!result.closest_miss.empty()) return text + ": " + result.closest_miss;
  if (question.system) return text;
  const std::string instead = nearby(question, platform);
  return instead.empty() ? text : text + "; " + instead;
}

// All grids that the question looks at, with all micro-batches; or the fastest alone.
SearchResult searched(const Question& question, const Platform& platform,
                      std::optional<Seconds> faster_than, const std::vector<StepOptions>& known,
                      const ProgressWatch& watch) {
  const Point pattern = point_of(question, ProcessGrid(question.devices, 1, 1, 1), 1);
  SearchSpace space{question.devices, question.stages};
  space.faster_than = faster_than;
  if (faster_than) space.micro_batches = question.micro_batches;
  space.memory_risk = question.memory_risk.value_or(usual_memory_risk);
  std::vector<ProcessGrid> of_model;
  if (question.grids_by == GridsBy::sc24_model) {
    of_model = coded_grids(question.model, question.global_batch, question.devices, platform.name,
                           grids_of_a_model);
    space.stages = {1};
    space.looks_at = [&](const ProcessGrid& grid) {
      return std::ranges::count(of_model, grid) > 0;
    };
  } else if (question.system) {
    space.looks_at = [&](const ProcessGrid& grid) {
      return searches(*question.system, grid, question.options.rank_order, platform.node.devices);
    };
  }
  if (!known.empty()) {
    space.looks_at = [&, asked = std::move(space.looks_at)](const ProcessGrid& grid) {
      const StepOptions here = in_effect(question.options, grid);
      return (!asked || asked(grid)) && std::ranges::none_of(known, [&](const StepOptions& one) {
               return in_effect(one, grid) == here;
             });
    };
  }
  return search(pattern, platform, space, [&](std::int64_t done, std::int64_t all) {
    stop_if_interrupted();
    watch(fmt::format("estimated {} of {} candidates", done, all),
          static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(all, 1)));
  });
}

}  // namespace

std::optional<Seconds> least_seconds(const Question& question, const Platform& platform,
                                     Seconds most, const std::vector<StepOptions>& known,
                                     const ProgressWatch& watch) {
  const SearchResult result = searched(question, platform, most, known, watch);
  if (result.feasible.empty()) return std::nullopt;
  return result.feasible.front().estimate.outcome.total;
}

SearchResult candidates(const Question& question, const Platform& platform,
                        const ProgressWatch& watch) {
  if (question.devices < 1) throw FindingFailed("the number of devices must be at least 1");
  if (question.devices > platform.devices()) {
    throw FindingFailed(fmt::format("{} has {} devices, {} are too many", platform.name,
                                    platform.devices(), question.devices));
  }
  if (question.grid) return candidates_of_grid(question, platform);
  SearchResult result = searched(question, platform, std::nullopt, {}, watch);
  std::set<std::int64_t> counts;  // of micro-batches that fit
  for (const Candidate& candidate : result.feasible) counts.insert(candidate.micro_batches);
  if (question.micro_batches) {
    std::erase_if(result.feasible, [&](const Candidate& candidate) {
      return candidate.micro_batches != *question.micro_batches;
    });
  }
  if (question.most_at_once) {
    std::erase_if(result.feasible, [&](const Candidate& candidate) {
      const std::int64_t shares = batch_unit(candidate.grid, candidate.micro_batches);
      return question.global_batch / shares > *question.most_at_once;
    });
  }
  if (question.grids_by != GridsBy::estimate) keep_best_of_grids(result.feasible);
  if (result.feasible.empty()) {
    throw DoesNotFit(why_nothing_fits(question, platform, result, counts));
  }
  return result;
}

}  // namespace fourfold::inline scaling::inline find
