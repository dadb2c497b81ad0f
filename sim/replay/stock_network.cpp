// Starts communications from timers and from the end of other communications: no actors.
#include "sim/replay/stock_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <utility>

namespace fourfold::inline sim::inline replay {

namespace s4u = simgrid::s4u;

StockNetwork::StockNetwork(const std::vector<StrandedRing>& rings, const Machine& machine,
                           RingMotion motion)
    : machine_(machine),
      motion_(motion),
      origin_(s4u::Engine::get_clock()),
      self_(std::make_shared<StockNetwork*>(this)) {
  for (const StrandedRing& ring : rings) {
    const auto number = static_cast<std::int32_t>(rings_.size());
    const auto first = static_cast<std::int64_t>(wires_.size());
    const auto count = static_cast<std::int64_t>(ring.strands.size());
    rings_.push_back({first, count, 0, ring.members, 1, 0.0, 0.0});
    std::multimap<std::int64_t, std::int64_t> starting_at;
    for (std::int64_t i = 0; i < count; ++i) {
      wires_.push_back({number, ring.strands[i].share, {}, {}, 0, {}});
      starting_at.emplace(ring.strands[i].from, first + i);
    }
    if (motion == RingMotion::edges) continue;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto [begin, end] = starting_at.equal_range(ring.strands[i].to);
      for (auto next = begin; next != end; ++next) {
        wires_[first + i].feeds.push_back(next->second);
        wires_[next->second].fed_by.push_back(first + i);
      }
    }
  }
  const std::weak_ptr<StockNetwork*> self = self_;
  s4u::Activity::on_completion_cb([self](const s4u::Activity& activity) {
    const std::shared_ptr<StockNetwork*> network = self.lock();
    const auto* communication = dynamic_cast<const s4u::Comm*>(&activity);
    if (!network || communication == nullptr) return;
    (*network)->end_piece(communication->get_data<Wire>() - (*network)->wires_.data());
  });
}

void StockNetwork::start(std::int32_t flow, double time, const TimedCollective& collective) {
  const CollectiveCost& cost = collective.cost;
  Ring& ring = rings_[flow];
  ring.pieces = motion_ == RingMotion::steps ? ring_steps(collective.kind, ring.members) : 1;
  ring.bytes = cost.work.value;
  ring.cap = cost.rate_cap.value;
  const double begin_time = std::max(now(), time + cost.delay.value);
  simgrid::kernel::timer::Timer::set(origin_ + begin_time, [this, flow] { begin(flow); });
}

void StockNetwork::wake(std::int32_t rank, double time) {
  simgrid::kernel::timer::Timer::set(origin_ + std::max(now(), time),
                                     [this, rank] { woken_(rank, now()); });
}

void StockNetwork::begin(std::int32_t flow) {
  done_.clear();
  Ring& ring = rings_[flow];
  ring.left = ring.wires;
  if (ring.wires == 0 || ring.bytes <= 0.0) {
    finish(flow);
    return;
  }
  for (std::int64_t wire = ring.first_wire; wire < ring.first_wire + ring.wires; ++wire) {
    wires_[wire].sent = 0;
  }
  for (std::int64_t wire = ring.first_wire; wire < ring.first_wire + ring.wires; ++wire) {
    send_if_ready(wire);
  }
}

void StockNetwork::finish(std::int32_t flow) {
  ++collectives_;
  finished_(flow, now());
}

void StockNetwork::send_if_ready(std::int64_t number) {
  Wire& wire = wires_[number];
  const Ring& ring = rings_[wire.ring];
  if (wire.in_flight || wire.sent == ring.pieces) return;
  for (std::int64_t feeder : wire.fed_by) {
    if (wires_[feeder].sent < wire.sent) return;
  }
  const double bytes = ring.bytes * wire.share / ring.pieces;
  const Machine::Ends ends = machine_.ends(number);
  ++communications_;
  wire.in_flight = s4u::Comm::sendto_init();
  wire.in_flight->set_data(&wire);
  wire.in_flight->set_payload_size(
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes))));
  ends.throttle->set_bandwidth(ring.cap * wire.share);
  wire.in_flight->set_source(ends.source);
  wire.in_flight->set_destination(ends.target);  // starts it
}

void StockNetwork::end_piece(std::int64_t number) {
  Wire& wire = wires_[number];
  Ring& ring = rings_[wire.ring];
  done_.push_back(std::move(wire.in_flight));
  wire.in_flight = nullptr;
  ++wire.sent;
  if (wire.sent == ring.pieces && --ring.left == 0) {
    finish(wire.ring);
    return;
  }
  send_if_ready(number);
  for (std::int64_t next : wire.feeds) send_if_ready(next);
}

}  // namespace fourfold::inline sim::inline replay
