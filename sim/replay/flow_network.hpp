// Collectives in flight: each pays its delay first, then its parts move their bytes at the max-min
// rate of the links they load. Knows nothing of SimGrid: it is driven from outside, instant by
// instant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "sim/replay/event_queue.hpp"
#include "sim/replay/max_min.hpp"
#include "sim/replay/parts.hpp"
#include "sim/replay/transport.hpp"

namespace fourfold::inline sim::inline replay {

class FlowNetwork : public Transport {
 public:
  struct Counts {
    std::int64_t finished = 0;  // collectives
    std::int64_t events = 0;
    std::int64_t solves = 0;
    Seconds solver_time;  // of our own clock
    // What the replay costs, the same on every machine: entries that the solver looked at, and ten
    // an event, which takes about as long.
    std::int64_t work = 0;
  };

  // Thrown by advance() beyond the work limit.
  struct TooMuchWork : std::runtime_error {
    TooMuchWork();
  };

  // Rates are decided anew at most once per `quantum`: what happens within it is handled together,
  // each flow keeping its own exact start. The Incidence must outlive the network.
  FlowNetwork(const Incidence& incidence, Parts parts, Seconds quantum);

  void start(std::int32_t communicator, double time, const TimedCollective& collective) override;

  void wake(std::int32_t rank, double time) override;

  // When something happens next; infinity if nothing is in flight.
  double next_time();
  // Handles what is due at next_time() and within the quantum after it.
  void advance();

  const Counts& counts() const { return counts_; }
  void limit_work(std::int64_t limit) { work_limit_ = limit; }
  // Bytes/s per unit of share of a flow of the Incidence, as last decided.
  double rate(std::int32_t flow) const { return rates_.rate(flow); }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  // Together: all parts move at the bound that they share, and nothing holds any of them back.
  // Apart: each has a state of its own.
  enum class Phase : std::uint8_t { idle, delayed, together, apart };
  // What every event looks at: one cache line.
  struct alignas(64) Collective {
    double work = 0.0;
    double cap = 0.0;
    double slowest = never;  // the lone rate of a part
    double fastest = 0.0;
    double since = 0.0;           // when its parts began to move together
    double due = never;           // when its delay ends, or its parts that move together
    std::int32_t unfinished = 0;  // parts
    Phase phase = Phase::idle;

    double bound() const { return std::min(cap, slowest); }  // of the slowest part
    bool moves() const { return work > 0.0 && bound() < never; }
    bool has_one_bound() const { return bound() == std::min(cap, fastest); }
    // One event stands for all parts.
    bool is_whole() const { return phase == Phase::delayed || phase == Phase::together; }
  };
  // Of a part that moves by itself.
  struct Flow {
    double remaining = 0.0;  // bytes, as of `updated`
    double updated = 0.0;
    double rate = 0.0;
    double due = 0.0;  // when it ends
    // The instant of its event in the queue, no later than `due`; its events of other instants were
    // overtaken.
    double asked = never;
    std::int32_t communicator = 0;
  };

  // An event that is out of the queue before its turn.
  struct Soon {
    double time = 0.0;
    Event event;
  };

  // Events of ranks stand below those of flows.
  static bool wakes(const Event& event) { return event.flow < 0; }
  // Flows [first, last).
  struct Range {
    std::int32_t first = 0;
    std::int32_t last = 0;
  };
  Range range(const Event& event) const;
  static bool concerns_all(const Event& event) { return event.count == Event::whole; }
  void schedule(std::int32_t flow, double time);
  bool concerns(std::int32_t flow, double time) const { return flows_[flow].asked == time; }
  // Whether something really happens in an event of this instant.
  bool is_due(const Event& event, double time) const;
  void put_off(std::int32_t flow);
  // Takes the next events up to `limit` out of the queue, and what they look at out of memory:
  // waiting for one after the other costs more than all else on a large machine. False if there are
  // none.
  bool look_ahead(double limit);
  void handle(const Soon& next);
  void happen(const Event& event, double time);
  void happen_to_all(std::int32_t communicator, double time);
  void move(std::int32_t communicator, double time);
  // `entered`: the solver knows the parts already.
  void move_apart(std::int32_t communicator, double time, bool entered);
  // From now on each part has a state of its own.
  void part(std::int32_t communicator);
  void finish_parts(std::int32_t communicator, std::int32_t parts, double time);
  void solve();

  const Incidence& incidence_;
  Parts parts_;
  MaxMin rates_;
  EventQueue queue_;
  std::vector<Flow> flows_;
  std::vector<Collective> collectives_;  // by communicator
  std::vector<Soon> soon_;
  double quantum_;
  double now_ = 0.0;
  Counts counts_;
  std::int64_t work_limit_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace fourfold::inline sim::inline replay
