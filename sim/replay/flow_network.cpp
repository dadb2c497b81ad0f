// Flows change phase when an event of theirs is due, and change rate when the solver says so.
#include "sim/replay/flow_network.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace fourfold {

FlowNetwork::FlowNetwork(const Incidence& incidence, Seconds quantum)
    : incidence_(incidence),
      rates_(incidence),
      flows_(incidence.flow_count()),
      quantum_(quantum.value) {}

void FlowNetwork::schedule(std::int32_t flow, double time) {
  queue_.push(time, {flow, ++flows_[flow].version});
}

void FlowNetwork::start(std::int32_t flow, double time, const CollectiveCost& cost) {
  Flow& state = flows_[flow];
  state.phase = Phase::delayed;
  state.remaining = cost.work.value;
  state.cap = cost.rate_cap.value;
  schedule(flow, time + cost.delay.value);
}

void FlowNetwork::move(std::int32_t flow, double time) {
  Flow& state = flows_[flow];
  const double bound = std::min(state.cap, incidence_.lone_rate(flow));
  if (state.remaining <= 0.0 || bound == std::numeric_limits<double>::infinity()) {
    finish(flow, time);
    return;
  }
  state.phase = Phase::moving;
  state.updated = time;
  state.rate = 0.0;
  if (rates_.enter(flow, bound)) {
    state.rate = bound;
    schedule(flow, time + state.remaining / bound);
  }
}

void FlowNetwork::finish(std::int32_t flow, double time) {
  if (flows_[flow].phase == Phase::moving) rates_.leave(flow);
  flows_[flow].phase = Phase::idle;
  ++flows_[flow].version;
  ++counts_.finished;
  finished_(flow, time);
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
  while (!queue_.empty() && queue_.next().version != flows_[queue_.next().flow].version) {
    queue_.pop();
  }
  return queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.next_time();
}

void FlowNetwork::advance() {
  const double limit = next_time() + quantum_;
  while (!queue_.empty() && queue_.next_time() <= limit) {
    const double time = queue_.next_time();
    const Event event = queue_.pop();
    if (event.version != flows_[event.flow].version) continue;
    ++counts_.events;
    now_ = time;
    if (flows_[event.flow].phase == Phase::delayed) {
      move(event.flow, time);
    } else {
      finish(event.flow, time);
    }
  }
  if (rates_.unsolved()) solve();
}

}  // namespace fourfold
