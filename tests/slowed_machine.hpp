// A machine on which everything takes longer by one factor: whatever is estimated or simulated of
// it must take longer by just that factor. A constant that is no number of the machine would show.
#pragma once

#include <type_traits>
#include <variant>

#include "platforms/platform.hpp"

namespace fourfold::tests {

inline void slow(Protocol& protocol, double factor) {
  protocol.hop_across = protocol.hop_across * factor;
  protocol.hop_in_node = protocol.hop_in_node * factor;
}

inline void slow(MapKernels& kernels, double factor) {
  for (MapKernel& kernel : kernels) kernel.time = kernel.time * factor;
}

inline void slow(Processor& processor, double factor) {
  const auto slower = [&](auto& rate) { rate.value /= factor; };
  slower(processor.advertised_peak);
  slower(processor.empirical_peak);
  for (GemmPoint& point : processor.gemm) slower(point.rate);
  for (ProductGrid& grid : processor.products) {
    for (FlopsPerSecond& rate : grid.rates) slower(rate);
  }
  slower(processor.attention_forward);
  slower(processor.attention_backward);
  for (AttentionPoint& point : processor.attention) {
    slower(point.forward);
    slower(point.backward);
  }
  slower(processor.memory_bandwidth);
  if (processor.host_link) slower(*processor.host_link);
  processor.launch_overhead = processor.launch_overhead * factor;
}

inline void slow(Node& node, double factor) {
  for (InnerLink& link : node.links) link.bandwidth.value /= factor;
  if (node.switch_port) node.switch_port->value /= factor;
  for (Nic& nic : node.nics) nic.bandwidth.value /= factor;
}

inline void slow(CollectiveLibrary& library, double factor) {
  library.base_across = library.base_across * factor;
  library.base_in_node = library.base_in_node * factor;
  slow(library.low_latency, factor);
  slow(library.simple, factor);
  for (auto* plateaus : {&library.across, &library.across_at_once, &library.in_node}) {
    for (Plateau& plateau : *plateaus) plateau.bus_bandwidth.value /= factor;
  }
  for (StridedPlateau& plateau : library.in_node_by_stride) plateau.bus_bandwidth.value /= factor;
  for (MeasuredCollectives& measured : library.measured) {
    for (MeasuredCollectives::Row& row : measured.rows) row.time = row.time * factor;
  }
}

inline void slow(Software& software, double factor) {
  software.dispatch = software.dispatch * factor;
  for (auto& [function, kernels] : software.maps) slow(kernels, factor);
  for (auto& [function, kernels] : software.beside) slow(kernels, factor);
  for (auto& [name, kernels] : software.others) slow(kernels, factor);
}

inline Platform slowed(Platform platform, double factor) {
  slow(platform.processor, factor);
  slow(platform.node, factor);
  std::visit(
      [&](auto& network) {
        using Kind = std::remove_cvref_t<decltype(network)>;
        if constexpr (requires(Kind n) { n.link_bandwidth; })
          network.link_bandwidth.value /= factor;
        if constexpr (requires(Kind n) { n.global_link_bandwidth; }) {
          network.global_link_bandwidth.value /= factor;
        }
      },
      platform.network);
  slow(platform.library, factor);
  slow(platform.software, factor);
  for (Fact& fact : platform.facts) {
    if (fact.key == "processor.fp32_Tflops" || fact.key.starts_with("processor.gemm.")) {
      fact.value /= factor;
    }
  }
  return platform;
}

}  // namespace fourfold::tests
