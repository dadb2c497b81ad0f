// The search: every process grid and micro-batch count that can run a model on so many devices, in
// pipelines of the lengths asked for, estimated; the impossible ones counted by reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schedule/models/fit.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline estimate {

struct Candidate {
  ProcessGrid grid;
  std::int64_t micro_batches = 1;
  Estimate estimate;
};

enum class Rejection : std::uint8_t { memory, heads, divisibility, layers, order, batch };
const char* name(Rejection reason);
Rejection rejection(Misfit why);  // of what is a misfit

struct SearchResult {
  std::vector<Candidate> feasible;             // by estimated seconds, then by grid: deterministic
  std::map<Rejection, std::int64_t> rejected;  // grids x micro-batches by reason
  std::int64_t tried = 0;
  // Not asked for, see SearchSpace::faster_than: those that fit, and pipelines that a bound rules
  // out before anybody knows whether they fit.
  std::int64_t slower = 0;
  // If nothing fits: what needs least memory, of which the estimate is of memory alone.
  std::optional<Candidate> closest;
};

// What is searched: all grids of so many devices whose pipeline has one of these lengths, with all
// micro-batches. The fastest alone, if it is faster than something, is found sooner.
struct SearchSpace {
  std::int64_t devices = 1;
  std::vector<std::int64_t> stages{1};
  std::function<bool(const ProcessGrid&)> looks_at = {};  // all grids if empty
  std::optional<std::int64_t> micro_batches = {};         // absent: all
  std::optional<std::int64_t> most_at_once = {};          // sequences of a micro-batch on a device
  std::optional<Seconds> faster_than = {};                // absent: all that fit are estimated
  double memory_risk = 0.5;                               // that a run is allowed not to fit
  bool closest_alone = false;  // what needs least is found, as if nothing fitted
};

// The point's grid and micro-batches are ignored, its order and chunks are kept. Progress is called
// with (done, all) now and then. Throws std::runtime_error if the machine is too small.
SearchResult search(const Point& question, const Platform& platform, const SearchSpace& space,
                    const std::function<void(std::int64_t, std::int64_t)>& progress = {});

// Agreement of two orders of the same candidates.
double kendall_tau(const std::vector<double>& a, const std::vector<double>& b);
// How much slower the estimate's first choice is than the best, by simulated seconds: 0.03 = 3 %.
double top1_regret(const std::vector<double>& estimated, const std::vector<double>& simulated);

}  // namespace fourfold::inline sim::inline estimate
