// Translates between the engine's steps and the network's instants.
#include "sim/replay/flow_model.hpp"

#include <algorithm>
#include <cmath>

namespace fourfold::inline sim::inline replay {

namespace {
constexpr double nothing_pending = -1.0;  // SimGrid's way to say so
}

FlowModel::FlowModel() : Model("fourfold flows") {}

void FlowModel::drive(FlowNetwork* network) {
  network_ = network;
  elapsed_ = 0.0;
}

double FlowModel::next_occurring_event(double) {
  if (network_ == nullptr) return nothing_pending;
  const double next = network_->next_time();
  return std::isinf(next) ? nothing_pending : std::max(0.0, next - elapsed_);
}

void FlowModel::update_actions_state(double, double delta) {
  if (network_ == nullptr) return;
  const double next = network_->next_time();
  if (elapsed_ + delta < next && next - elapsed_ > delta) {
    elapsed_ += delta;  // another model of the engine stops earlier
    return;
  }
  if (std::isinf(next)) return;
  elapsed_ = next;
  network_->advance();
}

}  // namespace fourfold::inline sim::inline replay
