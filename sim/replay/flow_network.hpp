// Collectives in flight, as flows: a flow pays its delay first, then moves its bytes at the max-min
// rate of the links it loads. Knows nothing of SimGrid: it is driven from outside, instant by
// instant.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/event_queue.hpp"
#include "sim/replay/max_min.hpp"
#include "sim/replay/transport.hpp"

namespace fourfold {

class FlowNetwork : public Transport {
 public:

  struct Counts {
    std::int64_t finished = 0;
    std::int64_t events = 0;
    std::int64_t solves = 0;
    Seconds solver_time;  // of our own clock
  };

  // Rates are decided anew at most once per `quantum`: what happens within it is handled together,
  // each flow keeping its own exact start. The Incidence must outlive the network.
  FlowNetwork(const Incidence& incidence, Seconds quantum);

  void start(std::int32_t flow, double time, const CollectiveCost& cost) override;

  // When something happens next; infinity if nothing is in flight.
  double next_time();
  // Handles what is due at next_time() and within the quantum after it.
  void advance();

  const Counts& counts() const { return counts_; }

 private:
  enum class Phase : std::uint8_t { idle, delayed, moving };
  struct Flow {
    double remaining = 0.0;  // bytes, as of `updated`
    double updated = 0.0;
    double rate = 0.0;
    double cap = 0.0;
    std::uint32_t version = 0;
    Phase phase = Phase::idle;
  };

  void schedule(std::int32_t flow, double time);
  void move(std::int32_t flow, double time);
  void finish(std::int32_t flow, double time);
  void solve();

  const Incidence& incidence_;
  MaxMin rates_;
  EventQueue queue_;
  std::vector<Flow> flows_;
  double quantum_;
  double now_ = 0.0;
  Counts counts_;
};

}  // namespace fourfold
