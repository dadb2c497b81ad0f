// A binary heap of instants with recycled lists of events.
#include "sim/replay/event_queue.hpp"

#include <algorithm>
#include <bit>

namespace fourfold {

namespace {
constexpr std::size_t recent_count = 1024;  // a power of two
}

EventQueue::EventQueue() : recent_(recent_count) {}

bool EventQueue::later(const Instant& a, const Instant& b) {
  return a.time != b.time ? a.time > b.time : a.number > b.number;
}

EventQueue::Recent& EventQueue::recent(double time) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio spreads close times
  const std::uint64_t hash = std::bit_cast<std::uint64_t>(time) * odd;
  return recent_[hash >> (64 - std::bit_width(recent_count - 1))];
}

void EventQueue::push(double time, Event event) {
  Recent& place = recent(time);
  if (place.time == time && place.list >= 0) {
    lists_[place.list].events.push_back(event);
    return;
  }
  if (free_lists_.empty()) {
    free_lists_.push_back(static_cast<std::int32_t>(lists_.size()));
    lists_.emplace_back();
  }
  const std::int32_t list = free_lists_.back();
  free_lists_.pop_back();
  lists_[list].events.push_back(event);
  heap_.push_back({time, created_++, list});
  std::push_heap(heap_.begin(), heap_.end(), later);
  place = {time, list};
}

Event EventQueue::pop() {
  const Instant first = heap_.front();
  List& list = lists_[first.list];
  const Event event = list.events[list.taken++];
  if (list.taken == list.events.size()) {
    list.events.clear();
    list.taken = 0;
    free_lists_.push_back(first.list);
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    Recent& place = recent(first.time);
    if (place.list == first.list) place.list = -1;
  }
  return event;
}

}  // namespace fourfold
