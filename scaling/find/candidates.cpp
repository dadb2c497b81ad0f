// From a question to its candidates; see candidates.hpp.
#include "scaling/find/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "platforms/device_memory.hpp"
#include "scaling/find/nearby.hpp"
#include "scaling/find/search_space.hpp"
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
                     100.0 * (1.0 - risk_of(question)));
}

// A point that does not fit its grid.
[[noreturn]] void refuse(const Point& point) {
  throw FindingFailed(misfit(point.model, point.grid, point.global_batch, point.options));
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
  SearchSpace space = search_space(question, platform);
  space.micro_batches = question.micro_batches;
  // What no search would look at is refused in its own words.
  const std::int64_t count = question.micro_batches.value_or(1);
  const Point first = point_of(question, grid, count);
  const std::int64_t batch = question.global_batch / replicas(grid);
  if (question.global_batch % replicas(grid) != 0 || batch % count != 0) refuse(first);
  SearchResult result = search(first, platform, space);
  if (result.feasible.empty() && !result.closest) refuse(first);
  if (result.feasible.empty()) {
    const Bytes least = result.closest->estimate.memory.peak;
    throw NeedsMore(
        fmt::format("{} on grid {} needs at least {:.1f} GB per device, but {} leaves {:.1f} GB of "
                    "{:.4g} GB{}{}",
                    question.model.name, grid.str(), least.value / 1e9, platform.name,
                    memory_limit(platform).value / 1e9, platform.processor.memory.value / 1e9,
                    words_of_bucket(question.options), words_of_risk(question, least, platform)),
        least);
  }
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

// Why no order takes any of the lengths of a pipeline that are asked about, whatever the
// micro-batches; empty if one takes one.
std::string why_no_order(const Question& question) {
  std::string why;
  std::vector<StepOptions> choices = question.variants;
  if (choices.empty()) choices.push_back(question.options);
  for (StepOptions& options : choices) {
    for (std::int64_t stages : question.stages) {
      options.micro_batches = stages;  // a multiple of the stages, as the interleaved order asks
      why = order_misfit(options, stages);
      if (why.empty()) return "";
    }
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
    const bool one = *counts.rbegin() == 1;
    return text +
           fmt::format("; {} micro-batch{} would fit", fmt::join(counts, ", "), one ? "" : "es");
  }
  text += fmt::format(" ({} tried{}{})", counted(result.tried, "combination"),
                      reasons.empty() ? "" : ", rejected ", fmt::join(reasons, ", "));
  if (const std::string order = why_no_order(question); !order.empty()) return text + ": " + order;
  if (result.closest) {
    return text + fmt::format(
                      ": the closest, grid {} with {}, needs {:.1f} GB per device of the "
                      "usable {:.1f} GB",
                      result.closest->grid.str(),
                      counted(result.closest->micro_batches, "micro-batch"),
                      result.closest->estimate.memory.peak.value / 1e9,
                      memory_limit(platform, risk_of(question)).value / 1e9);
  }
  if (question.system) return text;
  const std::string instead = nearby(question, platform);
  return instead.empty() ? text : text + "; " + instead;
}

// All grids that the question looks at, with all micro-batches; or the fastest alone.
SearchResult searched(const Question& question, const Platform& platform,
                      std::optional<Seconds> faster_than, const std::vector<StepOptions>& known,
                      const ProgressWatch& watch) {
  const Point pattern = point_of(question, ProcessGrid(question.devices, 1, 1, 1), 1);
  SearchSpace space = search_space(question, platform);
  space.faster_than = faster_than;
  if (faster_than) space.micro_batches = question.micro_batches;
  std::vector<ProcessGrid> of_model;
  if (question.grids_by == GridsBy::sc24_model) {
    of_model = coded_grids(question.model, question.global_batch, question.devices, platform.name,
                           grids_of_a_model);
    space.stages = {1};
    space.looks_at = [&](const ProcessGrid& grid) {
      return std::ranges::count(of_model, grid) > 0;
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

std::string of_all_choices(const Question& question) {
  if (!question.system) return "";
  return fmt::format("; none of {} choices of the system's options fits", question.variants.size());
}

SearchResult fastest_candidate(const Question& question, const Platform& platform, Seconds most,
                               const std::vector<StepOptions>& known, const ProgressWatch& watch) {
  return searched(question, platform, most, known, watch);
}

void add_tried(SearchResult& all, SearchResult one) {
  all.tried += one.tried;
  for (const auto& [why, count] : one.rejected) all.rejected[why] += count;
  const auto need = [](const SearchResult& of) { return of.closest->estimate.memory.peak; };
  if (one.closest && (!all.closest || need(one) < need(all))) all.closest = std::move(one.closest);
}

void refuse_all(const Question& question, const Platform& platform, SearchResult all,
                const ProgressWatch& watch) {
  std::set<std::int64_t> counts;  // of micro-batches that would fit
  Question one = question;
  if (question.micro_batches) all = {};  // others are tried, too
  for (const StepOptions& options : question.variants) {
    if (!question.micro_batches) break;
    one.options = options;
    SearchResult found = searched(one, platform, std::nullopt, {}, watch);
    for (const Candidate& other : found.feasible) counts.insert(other.micro_batches);
    add_tried(all, std::move(found));
  }
  one.options = question.variants.front();
  throw DoesNotFit(why_nothing_fits(one, platform, all, counts) + of_all_choices(question));
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
