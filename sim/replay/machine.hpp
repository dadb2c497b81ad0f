// SimGrid's engine, and for its own communications a machine as its platform: every device a host,
// every link of the topology a link, in one flat zone whose routes are computed, not stored.
#pragma once

#include <cstdint>
#include <memory>
#include <simgrid/s4u.hpp>
#include <vector>

#include "platforms/network/topology.hpp"
#include "sim/replay/flow_model.hpp"
#include "sim/replay/strands.hpp"

namespace fourfold::inline sim::inline replay {

// SimGrid knows one engine at a time, so there is one machine at a time.
class Machine {
 public:
  // Without devices and links, for a FlowNetwork, which has its own: SimGrid's would take an eighth
  // of a large replay's time. All throw std::logic_error if there is a machine already.
  Machine();
  // The Topology must outlive the machine.
  explicit Machine(const Topology& topology) : Machine(topology, {}) {}
  // The same with a route of its own for each strand.
  Machine(const Topology& topology, std::vector<Strand> strands);

  // Runs SimGrid's engine until nothing is left to happen in the network.
  void run(FlowNetwork& network);

  // Runs it on what stock S4U activities are pending.
  void run() { engine_->run(); }

  simgrid::s4u::Host* device(std::int64_t number) const { return devices_.at(number); }

  // A stock communication between these two takes the links of the strand, and where it shares them
  // it gets a rate in proportion to the strand's share.
  struct Ends {
    simgrid::s4u::Host* source = nullptr;
    simgrid::s4u::Host* target = nullptr;
    simgrid::s4u::Link* throttle = nullptr;  // its own: bounds its rate, as SimGrid's sendto
                                             // ignores the rate of a communication
  };
  Ends ends(std::int64_t strand) const;

 private:
  std::unique_ptr<simgrid::s4u::Engine> engine_;
  std::shared_ptr<FlowModel> flows_;
  std::vector<simgrid::s4u::Host*> devices_;
  std::vector<simgrid::s4u::Host*> ports_;      // sources of strands, then their targets
  std::vector<simgrid::s4u::Link*> throttles_;  // by strand
};

}  // namespace fourfold::inline sim::inline replay
