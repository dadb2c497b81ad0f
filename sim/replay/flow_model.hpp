// The plug-in by which SimGrid's engine drives a flow network: the engine asks when something
// happens next, advances its clock and says so.
#pragma once

#include <simgrid/kernel/resource/Model.hpp>

#include "sim/replay/flow_network.hpp"

namespace fourfold::inline sim::inline replay {

class FlowModel : public simgrid::kernel::resource::Model {
 public:
  FlowModel();

  // The network to drive from now on, which starts at its own time 0; null for none. Its instants
  // are its own: the engine's clock, which never goes back, only has to pass by the same distances.
  void drive(FlowNetwork* network);

  double next_occurring_event(double now) override;
  void update_actions_state(double now, double delta) override;

 private:
  FlowNetwork* network_ = nullptr;
  double elapsed_ = 0.0;  // since the network's time 0
};

}  // namespace fourfold::inline sim::inline replay
