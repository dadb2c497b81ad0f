// Enumerates grids and micro-batches, estimates what fits, counts what does not; see search.hpp.
#include "sim/estimate/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "platforms/device_memory.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/estimate/recordings.hpp"
#include "support/divisors.hpp"

namespace fourfold::inline sim::inline estimate {

namespace {

class Search {
 public:
  Search(const Point& question, const Platform& platform, const SearchSpace& space)
      : question_(question),
        memory_limit_(space.closest_alone ? Bytes{} : memory_limit(platform, space.memory_risk)),
        estimator_(platform, question_),
        recordings_(question_.model),
        counts_(space.micro_batches),
        most_at_once_(space.most_at_once),
        faster_than_(space.faster_than) {}

  void visit(const ProcessGrid& grid) {
    const Misfit why = find_misfit(question_.model, grid, question_.options.chunks);
    if (why != Misfit::none) return reject(why);
    if (question_.global_batch % replicas(grid) != 0) return reject(Misfit::batch);
    const std::int64_t length = grid.extent(Axis::pipe);
    for (std::int64_t m : divisors(question_.global_batch / replicas(grid))) {
      if (m != counts_.value_or(m)) continue;
      const std::int64_t at_once = question_.global_batch / batch_unit(grid, m);
      if (at_once > most_at_once_.value_or(at_once)) continue;
      StepOptions options = question_.options;
      options.micro_batches = m;
      const Misfit with_options =
          find_misfit(question_.model, grid, question_.global_batch, options);
      if (with_options != Misfit::none) {
        reject(with_options);
        continue;
      }
      ++result.tried;
      Recordings& recordings = recordings_.of(in_effect(question_.options, grid));
      // The last stage has the head, and most to do.
      if (faster_than_ && std::isfinite(faster_than_->value) && length > 1 &&
          estimator_.alone(recordings.stage({length - 1, length}, m), grid, m, *faster_than_) >=
              *faster_than_) {
        ++result.slower;
        continue;
      }
      if (needs_too_much(recordings, grid, m)) {
        ++result.rejected[Rejection::memory];
        continue;
      }
      const Pipeline& stages = recordings.pipeline(length, m);
      Estimate estimate = estimator_.evaluate(
          stages, grid, m, memory_limit_,
          faster_than_.value_or(Seconds{std::numeric_limits<double>::infinity()}));
      if (estimate.memory.peak > memory_limit_) {
        note_miss(std::move(estimate), grid, m);
        continue;
      }
      if (faster_than_ && estimate.outcome.total >= *faster_than_) {
        ++result.slower;
        continue;
      }
      if (faster_than_) {
        result.slower += static_cast<std::int64_t>(result.feasible.size());
        result.feasible.clear();
        faster_than_ = estimate.outcome.total;
      }
      result.feasible.push_back({grid, m, std::move(estimate)});
    }
  }

  void finish() {
    std::sort(result.feasible.begin(), result.feasible.end(),
              [](const Candidate& a, const Candidate& b) {
                const double ta = a.estimate.outcome.total.value;
                const double tb = b.estimate.outcome.total.value;
                if (ta != tb) return ta < tb;
                if (!(a.grid == b.grid)) return before(a.grid, b.grid);
                return a.micro_batches < b.micro_batches;
              });
    if (!result.feasible.empty()) result.closest.reset();
  }

  SearchResult result;

 private:
  static bool before(const ProcessGrid& a, const ProcessGrid& b) {
    for (Axis axis : all_axes) {
      if (a.extent(axis) != b.extent(axis)) return a.extent(axis) < b.extent(axis);
    }
    return false;
  }

  void reject(Misfit why) {
    ++result.tried;
    ++result.rejected[rejection(why)];
  }

  // One stage of a pipeline says so, before the others are recorded: the first keeps most, the last
  // has the logits. What may be the closest miss is looked at as a whole.
  bool needs_too_much(Recordings& recordings, const ProcessGrid& grid, std::int64_t m) {
    const std::int64_t length = grid.extent(Axis::pipe);
    if (length == 1 || !result.closest) return false;
    const Bytes least = std::max(memory_limit_, result.closest->estimate.memory.peak);
    for (const std::int64_t stage : {std::int64_t{0}, length - 1}) {
      const Folded& step = recordings.stage({stage, length}, m);
      if (estimator_.memory_alone(step, grid, m) > least) return true;
    }
    return false;
  }

  void note_miss(Estimate estimate, const ProcessGrid& grid, std::int64_t m) {
    ++result.rejected[Rejection::memory];
    if (!result.closest || estimate.memory.peak < result.closest->estimate.memory.peak) {
      result.closest = {grid, m, std::move(estimate)};
    }
  }

  Point question_;
  Bytes memory_limit_;
  Estimator estimator_;
  AllRecordings recordings_;
  std::optional<std::int64_t> counts_;  // of micro-batches
  std::optional<std::int64_t> most_at_once_;
  std::optional<Seconds> faster_than_;
};

}  // namespace

const char* name(Rejection reason) {
  constexpr const char* names[]{"memory", "heads", "divisibility", "layers", "order", "batch"};
  return names[static_cast<int>(reason)];
}

Rejection rejection(Misfit why) {
  switch (why) {
    case Misfit::heads:
    case Misfit::key_value_heads:
      return Rejection::heads;
    case Misfit::mlp:
    case Misfit::divisibility:
      return Rejection::divisibility;
    case Misfit::layers:
      return Rejection::layers;
    case Misfit::order:
      return Rejection::order;
    default:
      return Rejection::batch;
  }
}

SearchResult search(const Point& question, const Platform& platform, const SearchSpace& space,
                    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const std::int64_t devices = space.devices;
  if (devices < 1) throw std::runtime_error("a search needs at least 1 device");
  if (devices > platform.devices()) {
    throw std::runtime_error(platform.name + " has " + std::to_string(platform.devices()) +
                             " devices (" + std::to_string(platform.nodes) + " nodes of " +
                             std::to_string(platform.node.devices) + "), fewer than the " +
                             std::to_string(devices) + " asked for");
  }
  std::vector<ProcessGrid> grids;
  for (std::int64_t stages : space.stages) {
    if (devices % stages != 0) continue;
    const std::int64_t each = devices / stages;
    for (std::int64_t x : divisors(each)) {
      for (std::int64_t y : divisors(each / x)) {
        for (std::int64_t z : divisors(each / x / y)) {
          const ProcessGrid grid(x, y, z, each / x / y / z, stages);
          if (!space.looks_at || space.looks_at(grid)) grids.push_back(grid);
        }
      }
    }
  }
  Search search(question, platform, space);
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (progress && i % 16 == 0) {
      progress(static_cast<std::int64_t>(i), static_cast<std::int64_t>(grids.size()));
    }
    search.visit(grids[i]);
  }
  search.finish();
  return std::move(search.result);
}

double kendall_tau(const std::vector<double>& a, const std::vector<double>& b) {
  std::int64_t agreeing = 0;
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const double product = (a[i] - a[j]) * (b[i] - b[j]);
      agreeing += product > 0 ? 1 : product < 0 ? -1 : 0;
      ++pairs;
    }
  }
  return pairs == 0 ? 1.0 : static_cast<double>(agreeing) / static_cast<double>(pairs);
}

double top1_regret(const std::vector<double>& estimated, const std::vector<double>& simulated) {
  if (estimated.empty()) return 0.0;
  const auto chosen = std::min_element(estimated.begin(), estimated.end()) - estimated.begin();
  const double best = *std::min_element(simulated.begin(), simulated.end());
  return simulated[static_cast<std::size_t>(chosen)] / best - 1.0;
}

}  // namespace fourfold::inline sim::inline estimate
