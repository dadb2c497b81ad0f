// A binary heap of instants with chains of events in recycled places.
#include "sim/replay/event_queue.hpp"

#include <algorithm>
#include <bit>

namespace fourfold::inline sim::inline replay {

namespace {
constexpr std::size_t recent_count = 1024;  // a power of two
}

EventQueue::EventQueue() : recent_(recent_count) {}

EventQueue::Recent& EventQueue::recent(double time) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio spreads close times
  const std::uint64_t hash = std::bit_cast<std::uint64_t>(time) * odd;
  return recent_[hash >> (64 - std::bit_width(recent_count - 1))];
}

std::int32_t EventQueue::chained(Event event) {
  if (free_ == none) {
    links_.push_back({event, none});
    return static_cast<std::int32_t>(links_.size()) - 1;
  }
  const std::int32_t link = free_;
  free_ = links_[link].next;
  links_[link] = {event, none};
  return link;
}

void EventQueue::push(double time, Event event) {
  const std::int32_t link = chained(event);
  Recent& place = recent(time);
  if (place.time == time && place.last != none) {
    links_[place.last].next = link;
  } else {
    heap_.push_back({time, created_++, link});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }
  place = {time, link};
}

Event EventQueue::pop() {
  Instant& first = heap_.front();
  const std::int32_t link = first.first;
  const Event event = links_[link].event;
  const std::int32_t next = links_[link].next;
  if (next != none) {
    first.first = next;
  } else {
    Recent& place = recent(first.time);
    if (place.last == link) place.last = none;
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    heap_.pop_back();
  }
  links_[link].next = free_;
  free_ = link;
  return event;
}

}  // namespace fourfold::inline sim::inline replay
