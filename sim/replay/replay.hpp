// The simulated rung: every rank of the job walks the timed program, and all collectives in flight
// share the links of the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/platform.hpp"
#include "schedule/program/process_grid.hpp"
#include "sim/conditions/jitter.hpp"
#include "sim/conditions/link_faults.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/question/outcome.hpp"
#include "sim/question/replay_detail.hpp"

namespace fourfold::inline sim::inline replay {

enum class ReplayExtent : std::uint8_t {
  extrapolated,  // loops are cut to a few repetitions, which must be alike, and extended
  full,
};

// What carries collectives; see stock_network.hpp for the references.
enum class Carrier : std::uint8_t {
  flows,        // one flow a group, which moves in step
  stock_edges,  // stock SimGrid communications, one per edge of a ring
  stock_steps,  // the same, piece by piece, as a true ring
};
constexpr std::int64_t most_devices(Carrier carrier) {
  constexpr std::int64_t no_limit = std::int64_t{1} << 31;
  if (carrier == Carrier::flows) return no_limit;
  return carrier == Carrier::stock_edges ? 4096 : 1024;  // SimGrid's cost is quadratic in them
}

struct ReplayOptions {
  ReplayExtent extent = ReplayExtent::extrapolated;
  Carrier carrier = Carrier::flows;
  double tolerance =
      1e-3;  // largest relative change between the last two repetitions of a cut loop
  // Rates are shared out anew at most this often; 0: a hundred-thousandth of the estimated step,
  // but no more than 100 us, at which contended totals moved by up to 1e-3 against 10 us.
  Seconds quantum;
  std::vector<double> compute_factors;  // by rank, on compute time: slow devices; empty: all 1
  Jitter jitter;                        // on every compute step; with it nothing is cut
  Mapping mapping;                      // empty: packed
  LinkFaults faults;
  DetailWanted detail = DetailWanted::none;
  std::int64_t work_limit = 0;  // of all attempts, see FlowNetwork::Counts; 0: none
  // Called now and then with the part of an attempt's rank-operations that is done, 0 to 1.
  std::function<void(double)> progress;
};

struct Replay {
  Outcome outcome;
  bool extrapolated = false;     // some loop was cut
  double disagreement = 0.0;     // the largest relative change that was accepted
  std::int64_t attempts = 0;     // 1, and one more for each time loops needed more repetitions
  std::int64_t collectives = 0;  // of groups, in all attempts
  std::int64_t events = 0;
  std::int64_t solves = 0;
  std::int64_t work = 0;               // as FlowNetwork counts it
  Seconds solver_time;                 // of our own clock
  std::optional<ReplayDetail> detail;  // if it was wanted
};

// Throws std::invalid_argument if the program is unsound, does not fit the grid, or if the grid
// needs more devices than the platform has; and std::runtime_error on faults that cannot take
// effect. Throws FlowNetwork::TooMuchWork beyond the work limit.
Replay replay_step(const TimedProgram& program, const ProcessGrid& grid, const Platform& platform,
                   const ReplayOptions& options = {});

}  // namespace fourfold::inline sim::inline replay
