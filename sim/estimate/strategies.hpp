// The search over whole strategies: every grid, micro-batch and choice of options in a stated
// space, estimated; the best of them, and why the others cannot run and by how much.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/estimate/strategy_space.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline estimate {

// All that fit the rules, by their places in the words of each factor.
struct Visited {
  std::vector<std::uint16_t> places;  // of one strategy after the other
  std::vector<double> rates;          // flop/s per device; 0: out of memory
};

enum class Thoroughness : std::uint8_t {
  // Leaves out what provably is not among the best.
  best,
  // Looks at everything.
  all
};

struct StrategyWish {
  std::size_t best = 10;
  Thoroughness thoroughness = Thoroughness::best;
};

struct StrategyAnswer {
  std::vector<Factor> factors;
  std::vector<Strategy> best;   // by flop/s per device, then in the order of the space
  std::int64_t strategies = 0;  // in the space, with those that a rule keeps out
  std::vector<Refusal> refused;
  std::int64_t beaten = 0;  // left out, as a lower bound of their seconds is above the best
  std::int64_t feasible = 0;
  std::int64_t out_of_memory = 0;
  Bytes memory_limit;
  std::optional<Strategy> closest;  // of those out of memory, the one that needs least
  Visited visited;                  // empty unless all were wanted
};

// Flops of the model that a rate counts: the published convention without recompute, so that work
// done twice is time and no merit.
Flops strategy_flops(const Model& model, std::int64_t sequences);

// The pattern's grid and micro-batches are not looked at. Progress is called with (done, all) now
// and then. Throws std::runtime_error with a sentence if the space is empty, too large or beyond
// the machine, or if a word is unknown.
StrategyAnswer search_strategies(
    const Point& pattern, const Platform& platform, const StrategySpace& space,
    const StrategyWish& wish, const std::function<void(std::int64_t, std::int64_t)>& progress = {});

}  // namespace fourfold::inline sim::inline estimate
