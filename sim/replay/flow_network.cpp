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
}

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
  queue_.push(time, {flow, ++flows_[flow].version});
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
  queue_.push(time, {-1 - rank, 0});
}

void FlowNetwork::move(std::int32_t communicator, double time) {
  // The last part to end may start the next collective of the communicator at once, but not before
  // all parts of this one have been moved.
  for (std::int32_t flow = parts_.first[communicator]; flow < parts_.first[communicator + 1];
       ++flow) {
    move_part(flow, time);
  }
}

void FlowNetwork::move_part(std::int32_t flow, double time) {
  Flow& state = flows_[flow];
  const Collective& collective = collectives_[state.communicator];
  const double bound = std::min(collective.cap, incidence_.lone_rate(flow));
  if (collective.work <= 0.0 || bound == std::numeric_limits<double>::infinity()) {
    state.phase = Phase::idle;
    finish_part(flow, time);
    return;
  }
  state.phase = Phase::moving;
  state.remaining = collective.work;
  state.updated = time;
  state.rate = 0.0;
  if (rates_.enter(flow, bound)) {
    state.rate = bound;
    schedule(flow, time + state.remaining / bound);
  }
}

void FlowNetwork::finish_part(std::int32_t flow, double time) {
  Flow& state = flows_[flow];
  if (state.phase == Phase::moving) rates_.leave(flow);
  state.phase = Phase::idle;
  ++state.version;
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

double FlowNetwork::next_time() {
  while (!queue_.empty() && overtaken(queue_.next())) queue_.pop();
  return queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.next_time();
}

void FlowNetwork::advance() {
  const double limit = next_time() + quantum_;
  while (!queue_.empty() && queue_.next_time() <= limit) {
    const double time = queue_.next_time();
    const Event event = queue_.pop();
    if (overtaken(event)) continue;
    ++counts_.events;
    now_ = time;
    if (wakes(event)) {
      woken_(-1 - event.flow, time);
    } else if (flows_[event.flow].phase == Phase::delayed) {
      move(flows_[event.flow].communicator, time);
    } else {
      finish_part(event.flow, time);
    }
  }
  if (rates_.unsolved()) solve();
  counts_.work = rates_.touched() + work_of_event * counts_.events;
  if (counts_.work > work_limit_) throw TooMuchWork();
}

}  // namespace fourfold
