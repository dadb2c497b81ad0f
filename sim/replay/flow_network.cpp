// Flows change phase when an event of theirs is due, and change rate when the solver says so.
#include "sim/replay/flow_network.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fourfold::inline sim::inline replay {

namespace {
constexpr std::int64_t work_of_event = 10;
constexpr std::size_t most_soon = 32;
}  // namespace

FlowNetwork::TooMuchWork::TooMuchWork()
    : std::runtime_error("The simulation takes more work than --work-limit allows: raise it.") {}

FlowNetwork::FlowNetwork(const Incidence& incidence, Parts parts, Seconds quantum)
    : incidence_(incidence),
      parts_(std::move(parts)),
      rates_(incidence, parts_),
      flows_(incidence.flow_count()),
      collectives_(parts_.count()),
      quantum_(quantum.value) {
  for (std::int32_t c = 0; c < parts_.count(); ++c) {
    Collective& all = collectives_[c];
    for (std::int32_t flow = parts_.first[c]; flow < parts_.first[c + 1]; ++flow) {
      flows_[flow].communicator = c;
      all.slowest = std::min(all.slowest, incidence.lone_rate(flow));
      all.fastest = std::max(all.fastest, incidence.lone_rate(flow));
    }
  }
}

void FlowNetwork::schedule(std::int32_t flow, double time) {
  Flow& state = flows_[flow];
  state.due = time;
  // Where a rate falls and rises many times, most flows keep the event they have; it is put off
  // when it comes.
  if (state.asked <= time) return;
  state.asked = time;
  queue_.push(time, {flow});
}

void FlowNetwork::start(std::int32_t communicator, double time, const TimedCollective& collective) {
  const CollectiveCost& cost = collective.cost;
  Collective& all = collectives_[communicator];
  all.work = cost.work.value;
  all.cap = cost.rate_cap.value;
  all.unfinished = parts_.first[communicator + 1] - parts_.first[communicator];
  all.phase = Phase::delayed;
  all.due = time + cost.delay.value;
  queue_.push(all.due, {communicator, Event::whole});
}

void FlowNetwork::wake(std::int32_t rank, double time) {
  queue_.push(time, {-1 - rank});
}

void FlowNetwork::move(std::int32_t communicator, double time) {
  Collective& all = collectives_[communicator];
  const bool alike = all.moves() && all.has_one_bound();
  if (!alike || !rates_.enter_all(communicator, all.bound())) {
    move_apart(communicator, time, alike);
    return;
  }
  all.phase = Phase::together;
  all.since = time;
  all.due = time + all.work / all.bound();
  queue_.push(all.due, {communicator, Event::whole});
}

void FlowNetwork::move_apart(std::int32_t communicator, double time, bool entered) {
  Collective& all = collectives_[communicator];
  all.phase = Phase::apart;
  // Neighbours that nothing holds back end together: one event stands for them.
  Event together{0, 0};
  double end = never;
  const auto push = [&] {
    if (together.count > 0) queue_.push(end, together);
  };
  // The last part to end may start the next collective of the communicator at once, but not before
  // all parts of this one have been moved.
  std::int32_t at_once = 0;
  const std::int32_t last = parts_.first[communicator + 1];
  for (std::int32_t flow = parts_.first[communicator]; flow < last; ++flow) {
    const double bound = std::min(all.cap, incidence_.lone_rate(flow));
    if (all.work <= 0.0 || bound == never) {
      ++at_once;
      continue;
    }
    Flow& state = flows_[flow];
    state.remaining = all.work;
    state.updated = time;
    const bool free = entered ? rates_.rate(flow) > 0.0 : rates_.enter(flow, bound);
    state.rate = free ? bound : 0.0;
    if (!free) continue;
    state.due = time + state.remaining / state.rate;
    state.asked = state.due;
    if (state.due == end && together.flow + together.count == flow) {
      ++together.count;
      continue;
    }
    push();
    together = {flow, 1};
    end = state.due;
  }
  push();
  if (at_once > 0) finish_parts(communicator, at_once, time);
}

void FlowNetwork::part(std::int32_t communicator) {
  Collective& all = collectives_[communicator];
  all.phase = Phase::apart;
  for (std::int32_t flow = parts_.first[communicator]; flow < parts_.first[communicator + 1];
       ++flow) {
    flows_[flow] = {all.work, all.since, all.bound(), all.due, all.due, communicator};
  }
}

void FlowNetwork::finish_parts(std::int32_t communicator, std::int32_t parts, double time) {
  Collective& all = collectives_[communicator];
  all.unfinished -= parts;
  if (all.unfinished > 0) return;
  all.phase = Phase::idle;
  all.due = never;
  ++counts_.finished;
  finished_(communicator, time);
}

void FlowNetwork::solve() {
  const auto begin = std::chrono::steady_clock::now();
  for (std::int32_t flow : rates_.solve()) {
    Flow& state = flows_[flow];
    if (collectives_[state.communicator].phase == Phase::together) part(state.communicator);
    if (state.rate > 0.0) {
      state.remaining = std::max(0.0, state.remaining - state.rate * (now_ - state.updated));
      state.updated = now_;
    }
    state.rate = rates_.rate(flow);
    schedule(flow, std::max(now_, state.updated + state.remaining / state.rate));
  }
  ++counts_.solves;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  counts_.solver_time += Seconds{spent.count()};
}

// What an event is about, where parts move by themselves.
FlowNetwork::Range FlowNetwork::range(const Event& event) const {
  if (!concerns_all(event)) return {event.flow, event.flow + event.count};
  return {parts_.first[event.flow], parts_.first[event.flow + 1]};
}

bool FlowNetwork::is_due(const Event& event, double time) const {
  if (concerns_all(event) && collectives_[event.flow].is_whole()) {
    return collectives_[event.flow].due == time;
  }
  const auto [first, last] = range(event);
  for (std::int32_t flow = first; flow < last; ++flow) {
    if (concerns(flow, time) && flows_[flow].due <= time) return true;
  }
  return false;
}

void FlowNetwork::put_off(std::int32_t flow) {
  flows_[flow].asked = flows_[flow].due;
  queue_.push(flows_[flow].due, {flow});
}

double FlowNetwork::next_time() {
  while (!queue_.empty()) {
    const double time = queue_.next_time();
    if (wakes(queue_.next()) || is_due(queue_.next(), time)) return time;
    const Event event = queue_.pop();
    if (concerns_all(event) && collectives_[event.flow].is_whole()) continue;
    const auto [first, last] = range(event);
    for (std::int32_t flow = first; flow < last; ++flow) {
      if (concerns(flow, time)) put_off(flow);
    }
  }
  return never;
}

void FlowNetwork::happen_to_all(std::int32_t communicator, double time) {
  if (collectives_[communicator].phase == Phase::delayed) {
    ++counts_.events;
    move(communicator, time);
    return;
  }
  const std::int32_t parts = collectives_[communicator].unfinished;
  counts_.events += parts;
  rates_.leave_all(communicator);
  finish_parts(communicator, parts, time);
}

void FlowNetwork::happen(const Event& event, double time) {
  if (concerns_all(event) && collectives_[event.flow].is_whole()) {
    if (collectives_[event.flow].due == time) happen_to_all(event.flow, time);
    return;
  }
  const auto [first, last] = range(event);
  for (std::int32_t flow = first; flow < last; ++flow) {
    if (flow + MaxMin::ahead < last) rates_.expect(flow + MaxMin::ahead);
    if (!concerns(flow, time)) continue;
    if (flows_[flow].due > time) {
      put_off(flow);
      continue;
    }
    ++counts_.events;
    flows_[flow].asked = never;
    rates_.leave(flow);
    finish_parts(flows_[flow].communicator, 1, time);
  }
}

bool FlowNetwork::look_ahead(double limit) {
  soon_.clear();
  while (soon_.size() < most_soon && !queue_.empty() && queue_.next_time() <= limit) {
    soon_.push_back({queue_.next_time(), queue_.pop()});
    const Event& event = soon_.back().event;
    if (concerns_all(event)) {
      __builtin_prefetch(&collectives_[event.flow], 1);
      __builtin_prefetch(&parts_.first[event.flow]);
    } else if (!wakes(event)) {
      __builtin_prefetch(&flows_[event.flow], 1);
    }
  }
  for (int lookups = 0; lookups <= most_lookups; ++lookups) {
    for (const Soon& next : soon_) {
      if (concerns_all(next.event)) {
        rates_.expect_all(next.event.flow, lookups);
        const bool ends = collectives_[next.event.flow].phase == Phase::together;
        if (ends) expected_(next.event.flow, lookups);
      } else if (!wakes(next.event) && lookups == most_lookups) {
        rates_.expect(next.event.flow);
      }
    }
  }
  return !soon_.empty();
}

void FlowNetwork::handle(const Soon& next) {
  if (wakes(next.event)) {
    now_ = next.time;
    ++counts_.events;
    woken_(-1 - next.event.flow, next.time);
    return;
  }
  if (is_due(next.event, next.time)) now_ = next.time;
  happen(next.event, next.time);
}

void FlowNetwork::advance() {
  const double limit = next_time() + quantum_;
  while (look_ahead(limit)) {
    for (const Soon& next : soon_) {
      // What those before it have brought about may come first.
      while (!queue_.empty() && queue_.next_time() < next.time) {
        handle({queue_.next_time(), queue_.pop()});
      }
      handle(next);
    }
  }
  next_time();  // what comes later and is not due then is put off before rates change
  if (rates_.unsolved()) solve();
  counts_.work = rates_.touched() + work_of_event * counts_.events;
  if (counts_.work > work_limit_) throw TooMuchWork();
}

}  // namespace fourfold::inline sim::inline replay
