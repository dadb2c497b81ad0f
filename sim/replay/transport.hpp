// What carries the collectives of a replay: flows of our own, or stock SimGrid communications.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline replay {

class Transport {
 public:
  using Finished = std::function<void(std::int32_t communicator, double time)>;

  virtual ~Transport() = default;

  void on_finish(Finished finished) { finished_ = std::move(finished); }
  using Woken = std::function<void(std::int32_t rank, double time)>;
  void on_wake(Woken woken) { woken_ = std::move(woken); }
  // A collective will soon finish: what will be looked at then may be fetched from memory, which
  // must change nothing else. It lies behind numbers that lie behind numbers. Many collectives are
  // expected at once, with 0 first, then with 1, up to most_lookups: what is so many look-ups away
  // is fetched, what is nearer has come by then. Not all transports tell.
  using Expected = std::function<void(std::int32_t communicator, int lookups)>;
  static constexpr int most_lookups = 2;
  void on_expect(Expected expected) { expected_ = std::move(expected); }

  // The collective of a communicator, idle until now, starts at `time`, which must not lie
  // before the current instant.
  virtual void start(std::int32_t communicator, double time, const TimedCollective& collective) = 0;
  // A rank is to be woken at `time`, which must not lie before the current instant.
  virtual void wake(std::int32_t rank, double time) = 0;

 protected:
  Finished finished_;
  Woken woken_;
  Expected expected_ = [](std::int32_t, int) {};
};

}  // namespace fourfold::inline sim::inline replay
