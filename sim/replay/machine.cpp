// Builds the flat zone. Nested zones would cost minutes: SimGrid sorts all hosts for each of them.
#include "sim/replay/machine.hpp"

#include <array>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace fourfold::inline sim::inline replay {

namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::resource::StandardLinkImpl;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;
using simgrid::kernel::routing::Route;

// SimGrid shares links in inverse proportion to latency, so every route has the same small one; the
// latency of a collective is part of its delay.
constexpr double route_latency_s = 1e-9;

std::unique_ptr<s4u::Engine> make_engine() {
  if (s4u::Engine::is_initialized()) {
    throw std::logic_error("SimGrid has an engine already: one machine at a time.");
  }
  // Stock communications, where somebody uses them, share bandwidth plainly: without TCP's factors
  // and window, and without the load of acknowledgements.
  static char name[] = "fourfold-replay";
  static char quiet[] = "--log=xbt_cfg.thres:warning";
  static char model[] = "--cfg=network/model:CM02";
  static char one_way[] = "--cfg=network/crosstraffic:0";
  static char no_window[] = "--cfg=network/TCP-gamma:1e15";
  std::array<char*, 6> arguments{name, quiet, model, one_way, no_window, nullptr};
  int argument_count = static_cast<int>(arguments.size()) - 1;
  return std::make_unique<s4u::Engine>(&argument_count, arguments.data());
}

class FlatZone : public NetZoneImpl {
 public:
  FlatZone(const std::string& name, const Topology& topology, std::vector<Strand> strands)
      : NetZoneImpl(name), topology_(topology), strands_(std::move(strands)) {
    while (ports_a_side_ * ports_a_side_ < static_cast<std::int64_t>(strands_.size())) {
      ++ports_a_side_;
    }
  }

  // After set_parent, which is where a zone gets its models from.
  void populate() {
    for (std::int64_t device = 0; device < topology_.devices(); ++device) {
      hosts_.push_back(get_iface()->create_host("device " + std::to_string(device), 1.0));
      hosts_.back()->seal();
    }
    for (std::int64_t port = 0; port < 2 * ports_a_side_; ++port) {
      ports_.push_back(get_iface()->create_host("port " + std::to_string(port), 1.0));
      ports_.back()->seal();
    }
    first_id_ = hosts_.empty() ? 0 : hosts_.front()->get_netpoint()->id();
    for (std::int32_t link = 0; link < topology_.link_count(); ++link) {
      links_.push_back(get_iface()
                           ->create_link(topology_.link_name(link), topology_.capacity(link).value)
                           ->set_latency(0.0)
                           ->seal()
                           ->get_impl());
    }
    for (std::size_t strand = 0; strand < strands_.size(); ++strand) {
      throttles_.push_back(get_iface()
                               ->create_link("throttle " + std::to_string(strand), 1.0)
                               ->set_latency(0.0)
                               ->seal());
    }
    seal();
  }

  const std::vector<s4u::Link*>& throttles() const { return throttles_; }
  const std::vector<s4u::Host*>& hosts() const { return hosts_; }
  const std::vector<s4u::Host*>& ports() const { return ports_; }

  void get_local_route(const NetPoint* from, const NetPoint* to, Route* route,
                       double* latency) override {
    const auto source = static_cast<std::int64_t>(from->id() - first_id_);
    const auto target = static_cast<std::int64_t>(to->id() - first_id_);
    if (source >= topology_.devices()) {
      const std::int64_t first_target = topology_.devices() + ports_a_side_;
      const std::int64_t number =
          (source - topology_.devices()) * ports_a_side_ + (target - first_target);
      const Strand& strand = strands_.at(number);
      route->link_list_.push_back(throttles_[number]->get_impl());
      for (std::int32_t link : strand.links) route->link_list_.push_back(links_[link]);
      if (latency != nullptr) *latency += route_latency_s / strand.share;
      return;
    }
    path_.clear();
    topology_.minimal_route(source, target, path_);
    for (std::int32_t link : path_) route->link_list_.push_back(links_[link]);
    if (latency != nullptr) *latency += route_latency_s;
  }

 private:
  const Topology& topology_;
  std::vector<Strand> strands_;
  std::int64_t ports_a_side_ = 0;  // strand i goes from port i / a side to port i % a side
  std::vector<s4u::Host*> ports_;
  std::vector<s4u::Link*> throttles_;
  unsigned long first_id_ = 0;
  std::vector<s4u::Host*> hosts_;
  std::vector<StandardLinkImpl*> links_;
  std::vector<std::int32_t> path_;
};

}  // namespace

Machine::Machine() : engine_(make_engine()), flows_(std::make_shared<FlowModel>()) {
  s4u::create_full_zone("root")->seal();
  engine_->add_model(flows_);
}

Machine::Machine(const Topology& topology, std::vector<Strand> strands)
    : engine_(make_engine()), flows_(std::make_shared<FlowModel>()) {
  s4u::NetZone* root = s4u::create_full_zone("root");
  auto* zone =
      new FlatZone("machine", topology, std::move(strands));  // SimGrid deletes it with the engine
  zone->set_parent(root->get_impl());
  zone->populate();
  devices_ = zone->hosts();
  ports_ = zone->ports();
  throttles_ = zone->throttles();
  root->seal();
  engine_->add_model(flows_);
}

Machine::Ends Machine::ends(std::int64_t strand) const {
  const auto side = static_cast<std::int64_t>(ports_.size() / 2);
  return {ports_.at(strand / side), ports_.at(side + strand % side), throttles_.at(strand)};
}

void Machine::run(FlowNetwork& network) {
  flows_->drive(&network);
  engine_->run();
  flows_->drive(nullptr);
}

}  // namespace fourfold::inline sim::inline replay
