// Flows change phase when an event of theirs is due, and change rate when the solver says so.
#include "sim/replay/flow_network.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <utility>

namespace fourfold {

namespace {
constexpr std::int64_t work_of_event = 10;
constexpr std::size_t most_soon = 32;
constexpr std::int32_t ahead = 8;  // parts of a ring whose links are fetched beforehand
}  // namespace

FlowNetwork::TooMuchWork::TooMuchWork()
    : std::runtime_error("The simulation takes more work than --work-limit allows: raise it.") {}

Parts Parts::whole(std::int32_t communicators) {
  Parts parts;
  parts.first.resize(static_cast<std::size_t>(communicators) + 1);
  std::iota(parts.first.begin(), parts.first.end(), 0);
  return parts;
}

FlowNetwork::FlowNetwork(const Incidence& incidence, Parts parts, Seconds quantum)
    : incidence_(incidence),
      rates_(incidence),
      parts_(std::move(parts)),
      flows_(incidence.flow_count()),
      collectives_(parts_.count()),
      quantum_(quantum.value) {
  for (std::int32_t c = 0; c < parts_.count(); ++c) {
    for (std::int32_t flow = parts_.first[c]; flow < parts_.first[c + 1]; ++flow) {
      flows_[flow].communicator = c;
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
  collectives_[communicator] = {cost.work.value, cost.rate_cap.value,
                                parts_.first[communicator + 1] - parts_.first[communicator]};
  const std::int32_t first = parts_.first[communicator];
  flows_[first].phase = Phase::delayed;
  schedule(first, time + cost.delay.value);
}

void FlowNetwork::wake(std::int32_t rank, double time) {
  queue_.push(time, {-1 - rank});
}

void FlowNetwork::move(std::int32_t communicator, double time) {
  // Parts that nothing holds back end together: one event stands for them.
  Event together{0, 0};
  double end = never;
  const auto push = [&] {
    if (together.count > 0) queue_.push(end, together);
  };
  // The last part to end may start the next collective of the communicator at once, but not before
  // all parts of this one have been moved.
  const std::int32_t last = parts_.first[communicator + 1];
  for (std::int32_t flow = parts_.first[communicator]; flow < last; ++flow) {
    if (flow + ahead < last) rates_.expect(flow + ahead);
    if (!move_part(flow, time)) continue;
    Flow& state = flows_[flow];
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
}

bool FlowNetwork::move_part(std::int32_t flow, double time) {
  Flow& state = flows_[flow];
  const Collective& collective = collectives_[state.communicator];
  const double bound = std::min(collective.cap, incidence_.lone_rate(flow));
  if (collective.work <= 0.0 || bound == std::numeric_limits<double>::infinity()) {
    state.phase = Phase::idle;
    finish_part(flow, time);
    return false;
  }
  state.phase = Phase::moving;
  state.remaining = collective.work;
  state.updated = time;
  const bool free = rates_.enter(flow, bound);
  state.rate = free ? bound : 0.0;
  return free;
}

void FlowNetwork::finish_part(std::int32_t flow, double time) {
  Flow& state = flows_[flow];
  if (state.phase == Phase::moving) rates_.leave(flow);
  state.phase = Phase::idle;
  state.asked = never;
  if (--collectives_[state.communicator].unfinished > 0) return;
  ++counts_.finished;
  finished_(state.communicator, time);
}

void FlowNetwork::solve() {
  const auto begin = std::chrono::steady_clock::now();
  for (std::int32_t flow : rates_.solve()) {
    Flow& state = flows_[flow];
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

bool FlowNetwork::is_due(const Event& event, double time) const {
  for (std::int32_t flow = event.flow; flow < event.flow + event.count; ++flow) {
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
    for (std::int32_t flow = event.flow; flow < event.flow + event.count; ++flow) {
      if (concerns(flow, time)) put_off(flow);
    }
  }
  return never;
}

void FlowNetwork::happen(const Event& event, double time) {
  const std::int32_t last = event.flow + event.count;
  for (std::int32_t flow = event.flow; flow < last; ++flow) {
    if (flow + ahead < last) rates_.expect(flow + ahead);
    if (!concerns(flow, time)) continue;
    Flow& state = flows_[flow];
    if (state.due > time) {
      put_off(flow);
      continue;
    }
    ++counts_.events;
    state.asked = never;
    if (state.phase == Phase::delayed) {
      move(state.communicator, time);
    } else {
      finish_part(flow, time);
    }
  }
}

bool FlowNetwork::look_ahead(double limit) {
  soon_.clear();
  while (soon_.size() < most_soon && !queue_.empty() && queue_.next_time() <= limit) {
    soon_.push_back({queue_.next_time(), queue_.pop()});
    if (!wakes(soon_.back().event)) __builtin_prefetch(&flows_[soon_.back().event.flow], 1);
  }
  for (const Soon& next : soon_) {
    if (!wakes(next.event)) rates_.expect(next.event.flow);
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

}  // namespace fourfold
