// The reference: collectives as stock SimGrid communications, one per strand. What our own flows
// assume, that a ring moves in step, is not assumed here.
#pragma once

#include <cstdint>
#include <memory>
#include <simgrid/s4u.hpp>
#include <vector>

#include "sim/replay/machine.hpp"
#include "sim/replay/strands.hpp"
#include "sim/replay/transport.hpp"

namespace fourfold::inline sim::inline replay {

// How the strands of a ring depend on each other.
//
// edges: not at all; each carries all its bytes at once and takes what rate it gets.
// steps: as in a true ring. A strand carries its bytes in as many pieces as the collective has
//        steps, and may send piece k once it has sent piece k - 1 and the device it starts from has
//        received all its pieces k - 1.
enum class RingMotion : std::uint8_t { edges, steps };

struct StrandedRing {
  std::int64_t first_strand = 0;  // in the machine
  std::vector<Strand> strands;
  std::int32_t members = 2;
};

class StockNetwork : public Transport {
 public:
  // The machine must know the strands of all rings and outlive the network.
  StockNetwork(const std::vector<StrandedRing>& rings, const Machine& machine, RingMotion motion);

  // Delays are paid before the first byte moves, as in the flow network.
  void wake(std::int32_t rank, double time) override;
  void start(std::int32_t flow, double time, const TimedCollective& collective) override;

  std::int64_t communications() const { return communications_; }
  std::int64_t finished() const { return collectives_; }

 private:
  struct Wire {
    std::int32_t ring = 0;
    double share = 0.0;
    std::vector<std::int64_t> feeds;   // wires of the ring that start where this one ends ...
    std::vector<std::int64_t> fed_by;  // ... and that end where this one starts
    std::int32_t sent = 0;             // pieces
    simgrid::s4u::CommPtr in_flight;
  };
  struct Ring {
    std::int64_t first_wire = 0;
    std::int64_t wires = 0;
    std::int64_t left = 0;  // wires that are not done
    std::int32_t members = 2;
    std::int32_t pieces = 1;  // of the collective that is under way
    double bytes = 0.0;
    double cap = 0.0;
  };

  double now() const { return simgrid::s4u::Engine::get_clock() - origin_; }
  void begin(std::int32_t flow);
  void finish(std::int32_t flow);
  void send_if_ready(std::int64_t wire);
  void end_piece(std::int64_t wire);

  const Machine& machine_;
  RingMotion motion_;
  double origin_;
  std::vector<Wire> wires_;
  std::vector<Ring> rings_;
  std::vector<simgrid::s4u::CommPtr> done_;  // kept until SimGrid has let go of them
  std::int64_t communications_ = 0;
  std::int64_t collectives_ = 0;
  // SimGrid's callbacks cannot be taken back: they ask this whether the network still exists.
  std::shared_ptr<StockNetwork*> self_;
};

}  // namespace fourfold::inline sim::inline replay
