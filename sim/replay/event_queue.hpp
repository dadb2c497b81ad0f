// The future of a replay: which flow has something due, and when. Ranks that are alike do the same
// at the same instant, so events of one instant share one place in the heap.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold::inline sim::inline replay {

// Something happens to flows [flow, flow + count).
struct Event {
  std::int32_t flow = 0;  // or, where the count says so, a communicator
  std::int32_t count = 1;

  static constexpr std::int32_t whole = 0;  // count: all flows of communicator `flow`
};

// Events come out by time, those of one instant in the order in which they were pushed.
class EventQueue {
 public:
  EventQueue();

  void push(double time, Event event);
  bool empty() const { return heap_.empty(); }
  double next_time() const { return heap_.front().time; }
  const Event& next() const { return links_[heap_.front().first].event; }
  Event pop();

 private:
  static constexpr std::int32_t none = -1;

  // An instant and the chain of its events.
  struct Instant {
    double time = 0.0;
    std::uint32_t number = 0;  // of creation: orders instants of equal time; may begin anew
    std::int32_t first = none;
  };
  struct Link {
    Event event;
    std::int32_t next = none;
  };
  // Remembers the end of the chain of a recent time, so that pushes to the same instant need no
  // heap.
  struct Recent {
    double time = -1.0;
    std::int32_t last = none;
  };
  // A type of its own, so that the heap's loops contain the comparison.
  struct Later {
    bool operator()(const Instant& a, const Instant& b) const {
      if (a.time != b.time) return a.time > b.time;
      return static_cast<std::int32_t>(a.number - b.number) > 0;
    }
  };
  Recent& recent(double time);
  std::int32_t chained(Event event);

  std::vector<Instant> heap_;
  std::vector<Link> links_;
  std::int32_t free_ = none;  // the first of a chain
  std::vector<Recent> recent_;
  std::uint32_t created_ = 0;
};

}  // namespace fourfold::inline sim::inline replay
