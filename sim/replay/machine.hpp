// A machine as a SimGrid platform: every device a host, every link of the topology a link, in one
// flat zone whose routes are computed, not stored.
#pragma once

#include <cstdint>
#include <memory>
#include <simgrid/s4u.hpp>
#include <vector>

#include "platforms/topology.hpp"
#include "sim/replay/flow_model.hpp"

namespace fourfold {

// SimGrid knows one engine per process, whose platform can only grow: a machine becomes a zone of
// it and stays there until the process ends.
class Machine {
 public:
  // The Topology must live until the process ends or no route is asked for any more.
  explicit Machine(const Topology& topology);

  // Runs SimGrid's engine until nothing is left to happen in the network.
  void run(FlowNetwork& network);

  simgrid::s4u::Host* device(std::int64_t number) const { return devices_.at(number); }

  // Before the first machine: the models of stock S4U communications, for those who use them. Plain
  // bandwidth sharing, without TCP's factors and window.
  static void configure_stock_communications();

 private:
  std::shared_ptr<FlowModel> flows_;
  std::vector<simgrid::s4u::Host*> devices_;
};

}  // namespace fourfold
