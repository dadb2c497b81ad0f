// The future of a replay: which flow has something due, and when. Ranks that are alike do the same
// at the same instant, so events of one instant share one place in the heap.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold {

// `version` tells a valid event from one that was overtaken by a later decision about its flow.
struct Event {
  std::int32_t flow = 0;
  std::uint32_t version = 0;
};

// Events come out by time, those of one instant in the order in which they were pushed.
class EventQueue {
 public:
  EventQueue();

  void push(double time, Event event);
  bool empty() const { return heap_.empty(); }
  double next_time() const { return heap_.front().time; }
  const Event& next() const {
    const List& list = lists_[heap_.front().list];
    return list.events[list.taken];
  }
  Event pop();

 private:
  // An instant and the list of its events.
  struct Instant {
    double time = 0.0;
    std::int64_t number = 0;  // of creation: orders instants of equal time
    std::int32_t list = 0;
  };
  struct List {
    std::vector<Event> events;
    std::size_t taken = 0;
  };
  // Remembers the list of a recent time, so that pushes to the same instant need no heap.
  struct Recent {
    double time = -1.0;
    std::int32_t list = -1;
  };
  static bool later(const Instant& a, const Instant& b);
  Recent& recent(double time);

  std::vector<Instant> heap_;
  std::vector<List> lists_;
  std::vector<std::int32_t> free_lists_;
  std::vector<Recent> recent_;
  std::int64_t created_ = 0;
};

}  // namespace fourfold
