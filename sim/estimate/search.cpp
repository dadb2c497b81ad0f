// Enumerates grids and micro-batches, estimates what fits, counts what does not; see search.hpp.
#include "sim/estimate/search.hpp"

#include <algorithm>
#include <cstdio>
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

std::string gigabytes(Bytes bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", bytes.value / 1e9);
  return text;
}

class Search {
 public:
  Search(const Point& question, const Platform& platform, const SearchSpace& space)
      : question_(question),
        memory_limit_(memory_limit(platform, space.memory_risk)),
        estimator_(platform, question_),
        recordings_(question_.model),
        counts_(space.micro_batches),
        faster_than_(space.faster_than) {}

  void visit(const ProcessGrid& grid) {
    const Misfit why = find_misfit(question_.model, grid, question_.options.chunks);
    if (why != Misfit::none) return reject(why);
    if (question_.global_batch % replicas(grid) != 0) return reject(Misfit::batch);
    const std::int64_t length = grid.extent(Axis::pipe);
    for (std::int64_t m : divisors(question_.global_batch / replicas(grid))) {
      if (m != counts_.value_or(m)) continue;
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
      if (faster_than_ && length > 1 &&
          estimator_.alone(recordings.stage({length - 1, length}, m), grid, m, *faster_than_) >=
              *faster_than_) {
        ++result.slower;
        continue;
      }
      const Pipeline& stages = recordings.pipeline(length, m);
      Estimate estimate = estimator_.evaluate(
          stages, grid, m, memory_limit_,
          faster_than_.value_or(Seconds{std::numeric_limits<double>::infinity()}));
      if (estimate.memory.peak > memory_limit_) {
        note_miss(estimate.memory.peak, grid, m);
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
    if (result.feasible.empty() && least_.value > 0) {
      result.closest_miss =
          "the closest, grid " + miss_.str() + " with " + std::to_string(miss_micro_batches_) +
          " micro-batch" + (miss_micro_batches_ == 1 ? "" : "es") + ", needs " + gigabytes(least_) +
          " per device of the usable " + gigabytes(memory_limit_);
    }
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

  void note_miss(Bytes need, const ProcessGrid& grid, std::int64_t m) {
    ++result.rejected[Rejection::memory];
    if (least_.value == 0 || need < least_) {
      least_ = need;
      miss_ = grid;
      miss_micro_batches_ = m;
    }
  }

  Point question_;
  Bytes memory_limit_;
  Estimator estimator_;
  AllRecordings recordings_;
  std::optional<std::int64_t> counts_;  // of micro-batches
  std::optional<Seconds> faster_than_;
  Bytes least_;
  ProcessGrid miss_;
  std::int64_t miss_micro_batches_ = 0;
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
