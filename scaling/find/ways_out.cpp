// Changes of a question, tried one by one; see ways_out.hpp.
#include "scaling/find/ways_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "platforms/device_memory.hpp"
#include "scaling/find/search_space.hpp"
#include "schedule/models/fit.hpp"
#include "support/divisors.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

constexpr std::size_t ways_shown = 8, ways_enough = 3;
constexpr std::int64_t usual_offload_bucket = 16'777'216;  // elements

// all: everything on the question's grid, or on all grids, that a device with this memory has room
// for. fastest: that alone.
enum class Wanted : std::uint8_t { all, fastest };

SearchSpace space_of(const Question& question, const Platform& platform) {
  SearchSpace space = search_space(question, platform);
  space.micro_batches = question.micro_batches;
  space.most_at_once = question.most_at_once;
  return space;
}

SearchResult searched(const Question& question, const Platform& platform,
                      const SearchSpace& space) {
  return search(point_of(question, ProcessGrid(question.devices, 1, 1, 1), 1), platform, space);
}

std::vector<Candidate> answers(const Question& question, const Platform& platform, Wanted wanted) {
  SearchSpace space = space_of(question, platform);
  if (wanted == Wanted::fastest) {
    space.faster_than = Seconds{std::numeric_limits<double>::infinity()};
  }
  return searched(question, platform, space).feasible;
}

Coordinates extents_of(const ProcessGrid& grid) {
  Coordinates extents{};
  for (Axis axis : all_axes) extents[static_cast<std::size_t>(axis)] = grid.extent(axis);
  return extents;
}

// A change, and how it is typed.
struct Change {
  std::string what;
  std::map<std::string, std::string> flags;
  std::function<void(Question&)> apply;
};

Change option_change(const StepOptions& now, const char* flag, const std::string& what,
                     const std::function<void(StepOptions&)>& set) {
  StepOptions changed = now;
  set(changed);
  return {what, {{flag, step_fields().word(changed, flag)}}, [set](Question& question) {
            set(question.options);
            question.variants.clear();
          }};
}

class WaysOut {
 public:
  WaysOut(const Question& question, const Platform& platform)
      : question_(question), platform_(platform) {}

  std::optional<Shortage> find() {
    if (!find_closest()) return std::nullopt;
    const std::vector<Change> options = option_changes();
    for (const Change& change : options) try_changes({&change});
    inputs_on_host();
    some_layers();
    larger_grids();
    more_devices();
    for (std::size_t i = 0; i < options.size() && shortage_.ways.size() < ways_enough; ++i) {
      for (std::size_t j = i + 1; j < options.size(); ++j) {
        const bool same = options[i].flags.begin()->first == options[j].flags.begin()->first;
        if (!same) try_changes({&options[i], &options[j]});
      }
    }
    if (shortage_.ways.size() < ways_enough) any_grid(options);
    std::ranges::stable_sort(shortage_.ways, {}, &WayOut::device_seconds);
    keep_best_of_each();
    if (shortage_.ways.size() > ways_shown) shortage_.ways.resize(ways_shown);
    take_the_risk();
    return std::move(shortage_);
  }

 private:
  // Whatever needs least.
  bool find_closest() {
    std::vector<StepOptions> variants = question_.variants;
    if (variants.empty()) variants.push_back(question_.options);
    // How gradients are reduced saves seconds, and no memory.
    const StepOptions& usual = question_.options;
    const auto saves_time = [&](const StepOptions& one) {
      return one.gradient_reduction != usual.gradient_reduction ||
             one.data_reduction != usual.data_reduction;
    };
    if (!std::ranges::all_of(variants, saves_time)) std::erase_if(variants, saves_time);
    std::optional<Candidate> closest;
    for (const StepOptions& options : variants) {
      Question one = question_;
      one.options = options;
      SearchSpace space = space_of(one, platform_);
      space.closest_alone = true;
      std::optional<Candidate> found = searched(one, platform_, space).closest;
      const bool less =
          found && (!closest || found->estimate.memory.peak < closest->estimate.memory.peak);
      if (!less) continue;
      closest = std::move(found);
      shortage_.point = point_of(one, closest->grid, closest->micro_batches);
    }
    if (!closest) return false;
    shortage_.found = std::move(*closest);
    shortage_.found.estimate = estimate_step(shortage_.point, platform_);
    base_ = question_;
    base_.options = shortage_.point.options;
    base_.variants.clear();
    return true;
  }

  std::vector<Change> option_changes() const {
    const StepOptions& now = base_.options;
    std::vector<Change> changes;
    if (question_.micro_batches) {
      changes.push_back({"smaller micro-batches", {{"--micro-batches", ""}}, [](Question& q) {
                           q.micro_batches.reset();
                         }});
    }
    if (!now.sequence_parallel) {
      changes.push_back(option_change(now, "--sequence-parallel", "sequence parallelism",
                                      [](StepOptions& o) { o.sequence_parallel = true; }));
    }
    for (const Recompute much :
         {Recompute::norms, Recompute::selective, Recompute::mlp, Recompute::full}) {
      if (now.recompute == Recompute::full || now.recompute == much) continue;
      changes.push_back(option_change(now, "--recompute", fmt::format("recompute {}", name(much)),
                                      [much](StepOptions& o) { o.recompute = much; }));
    }
    for (std::int64_t zero = now.zero + 1; zero <= 3; ++zero) {
      changes.push_back(option_change(now, "--zero", fmt::format("ZeRO {}", zero),
                                      [zero](StepOptions& o) { o.zero = zero; }));
    }
    if (!now.offloads() && platform_.processor.host_link) {
      changes.push_back(
          option_change(now, "--offload-bucket", "the optimizer on the host",
                        [](StepOptions& o) { o.offload_bucket = usual_offload_bucket; }));
    }
    return changes;
  }

  bool allowed(const Question& question) const {
    if (!question.system) return true;
    if (!forbidden(*question.system, question.options).empty()) return false;
    return !question.grid || searches(*question.system, *question.grid, question.options.rank_order,
                                      platform_.node.devices);
  }

  void try_changes(const std::vector<const Change*>& changes) {
    Question changed = base_;
    WayOut way;
    for (const Change* change : changes) {
      change->apply(changed);
      way.what += (way.what.empty() ? "" : " and ") + change->what;
      way.flags.insert(change->flags.begin(), change->flags.end());
    }
    add(changed, std::move(way));
  }

  // The fastest that fits, and of micro-batches that may be smaller the largest.
  bool add(const Question& changed, WayOut way) {
    if (!allowed(changed)) return false;
    std::vector<Candidate> found =
        answers(changed, platform_, changed.grid ? Wanted::all : Wanted::fastest);
    if (found.empty()) return false;
    const bool of_micro_batches = way.flags.contains("--micro-batches") && question_.micro_batches;
    if (of_micro_batches && changed.grid) {
      std::ranges::stable_sort(found, {}, &Candidate::micro_batches);
      std::erase_if(found, [&](const Candidate& one) {
        return one.micro_batches <= *question_.micro_batches;
      });
      if (found.empty()) return false;
      way.flags["--micro-batches"] = std::to_string(found.front().micro_batches);
      const std::int64_t sequences =
          question_.global_batch / batch_unit(*changed.grid, found.front().micro_batches);
      way.what += fmt::format(" ({})", counted(sequences, "sequence"));
    }
    way.found = std::move(found.front());
    way.chance = chance_to_fit(way.found.estimate.memory.peak, platform_);
    shortage_.ways.push_back(std::move(way));
    return true;
  }

  // What full recompute keeps of a block, where that alone is too much.
  void inputs_on_host() {
    const StepOptions& now = base_.options;
    if (now.offload_activations || !now.trains() || !platform_.processor.host_link) return;
    const std::map<std::string, std::string> recompute{{"--recompute", "full"}};
    if (std::ranges::count(shortage_.ways, recompute, &WayOut::flags) > 0) return;
    Question changed = base_;
    changed.options.recompute = Recompute::full;
    changed.options.offload_activations = true;
    WayOut way{"inputs of blocks on the host", {{"--offload-activations", "on"}}, {}, 0.0};
    if (now.recompute != Recompute::full) {
      way.what = "recompute full and " + way.what;
      way.flags.insert(recompute.begin(), recompute.end());
    }
    add(changed, std::move(way));
  }

  // The fewest layers of a stage that are recomputed as a whole: more of them never need more.
  void some_layers() {
    if (!question_.grid || base_.options.recompute == Recompute::full) return;
    const auto with = [&](std::int64_t layers) {
      Question changed = base_;
      changed.options.recompute = Recompute::full;
      changed.options.recompute_layers = layers;
      return changed;
    };
    const auto fits = [&](std::int64_t layers) {
      const Question changed = with(layers);
      return allowed(changed) && !answers(changed, platform_, Wanted::all).empty();
    };
    const std::int64_t chunks = question_.grid->extent(Axis::pipe) * base_.options.chunks;
    const std::int64_t most = (base_.model.layers + chunks - 1) / chunks;
    if (most < 2 || !fits(most - 1)) return;
    std::int64_t too_few = 0, enough = most - 1;
    while (enough - too_few > 1) {
      const std::int64_t middle = (too_few + enough) / 2;
      (fits(middle) ? enough : too_few) = middle;
    }
    add(with(enough), {fmt::format("recompute of {} {}", counted(enough, "layer"),
                                   base_.options.chunks == 1 ? "a stage" : "a chunk"),
                       {{"--recompute", "full"}, {"--recompute-layers", fmt::to_string(enough)}},
                       {},
                       0.0});
  }

  // More of an axis, taken from data.
  void larger_grids() {
    if (!question_.grid) return;
    for (Axis axis : {Axis::x, Axis::z, Axis::pipe}) {
      for (std::int64_t factor = 2; question_.grid->extent(Axis::data) % factor == 0; factor *= 2) {
        Coordinates extents = extents_of(*question_.grid);
        extents[static_cast<std::size_t>(Axis::data)] /= factor;
        if (add_grid(extents, axis, factor)) break;
      }
    }
  }

  // With so many times the axis; where micro-batches are stated and too large, with others.
  bool add_grid(Coordinates extents, Axis axis, std::int64_t factor) {
    extents[static_cast<std::size_t>(axis)] *= factor;
    Question changed = base_;
    changed.grid = ProcessGrid(extents);
    changed.devices = changed.grid->size();
    if (find_misfit(changed.model, *changed.grid, changed.options.chunks) != Misfit::none) {
      return false;
    }
    const std::int64_t before = question_.grid->extent(axis);
    WayOut way{fmt::format("{} {} instead of {}", name(axis), before * factor, before),
               {{"--grid", changed.grid->str()}, {"--devices", ""}},
               {},
               0.0};
    if (changed.devices != question_.devices) {
      way.what = counted(changed.devices, "device") + ", " + way.what;
    }
    if (add(changed, way)) return true;
    if (!question_.micro_batches) return false;
    changed.micro_batches.reset();
    way.flags["--micro-batches"] = "";
    way.what += " and other micro-batches";
    return add_anyhow(changed, way);
  }

  // Whatever the micro-batches are.
  bool add_anyhow(const Question& changed, WayOut way) {
    if (!allowed(changed)) return false;
    std::vector<Candidate> found = answers(changed, platform_, Wanted::fastest);
    if (found.empty()) return false;
    way.found = std::move(found.front());
    way.chance = chance_to_fit(way.found.estimate.memory.peak, platform_);
    shortage_.ways.push_back(std::move(way));
    return true;
  }

  void more_devices() {
    bool any = false;
    for (std::int64_t factor = 2; !any && question_.devices * factor <= platform_.devices();
         factor *= 2) {
      if (question_.grid) {
        for (Axis axis : {Axis::x, Axis::z, Axis::data, Axis::pipe}) {
          any |= add_grid(extents_of(*question_.grid), axis, factor);
        }
        continue;
      }
      Question changed = base_;
      changed.devices = question_.devices * factor;
      any = add_anyhow(changed, {counted(changed.devices, "device"),
                                 {{"--devices", std::to_string(changed.devices)}},
                                 {},
                                 0.0});
    }
  }

  // The grid is left to the search, with the options as they are and with all that save memory.
  void any_grid(const std::vector<Change>& options) {
    Question changed = base_;
    WayOut way{
        "any grid and micro-batches",
        {{"--grid", ""}, {"--micro-batches", ""}, {"--devices", std::to_string(question_.devices)}},
        {},
        0.0};
    changed.grid.reset();
    changed.micro_batches.reset();
    if (question_.stages == std::vector<std::int64_t>{1}) {
      way.flags["--stages"] = "all";
      changed.stages = divisors(question_.devices);
      std::erase_if(changed.stages, [&](std::int64_t stages) {
        return stages > changed.model.layers / changed.options.chunks;
      });
    }
    if (add_anyhow(changed, way)) return;
    for (const Change& change : options) {
      if (change.flags.begin()->first == "--micro-batches") continue;
      change.apply(changed);
      way.what += ", " + change.what;
      for (const auto& [flag, word] : change.flags) way.flags[flag] = word;
      if (add_anyhow(changed, way)) return;
    }
  }

  // Of ways by the same flags the first; but several grids, as each says another axis. Nor what does
  // more than another way, and is no faster.
  void keep_best_of_each() {
    std::set<std::vector<std::string>> seen;
    std::erase_if(shortage_.ways, [&](const WayOut& way) {
      std::vector<std::string> flags;
      for (const auto& [flag, word] : way.flags) flags.push_back(flag == "--grid" ? word : flag);
      return !seen.insert(flags).second;
    });
    const std::vector<WayOut> all = shortage_.ways;
    std::erase_if(shortage_.ways, [&](const WayOut& way) {
      return std::ranges::any_of(all, [&](const WayOut& other) {
        return other.flags != way.flags && std::ranges::includes(way.flags, other.flags) &&
               other.device_seconds() <= way.device_seconds();
      });
    });
  }

  // What fits by a hair, or may, where nothing else does without a change.
  void take_the_risk() {
    const double chance = chance_to_fit(shortage_.found.estimate.memory.peak, platform_);
    const double risk = std::ceil(100.0 * (1.0 - chance)) / 100.0;
    if (chance <= fits_not_below || risk > 1.0 - fits_not_below) return;
    Question changed = base_;
    changed.memory_risk = risk;
    add_anyhow(changed, {"more risk", {{"--memory-risk", fmt::format("{:.2f}", risk)}}, {}, 0.0});
  }

  const Question& question_;
  const Platform& platform_;
  Question base_;  // with the options of what needs least
  Shortage shortage_;
};

}  // namespace

double WayOut::device_seconds() const {
  return found.estimate.outcome.total.value * static_cast<double>(found.grid.size());
}

std::optional<Shortage> shortage(const Question& question, const Platform& platform) {
  return WaysOut(uniform(question), platform).find();
}

}  // namespace fourfold::inline scaling::inline find
