// Lines that leave a part of the tree, counted block by block.
#include "platforms/network/fat_tree_rate.hpp"

#include <algorithm>

#include "platforms/node/node_graph.hpp"

namespace fourfold::inline platforms::inline network {
namespace {

// Lines of one block that have members among its devices first .. last - 1, but not all of them.
std::int64_t leaving_part(std::int64_t first, std::int64_t last, AxisLines lines) {
  if (first >= last) return 0;
  const std::int64_t span = lines.stride * (lines.extent - 1);
  const std::int64_t present = std::min(lines.stride, last - first);
  const std::int64_t inside = std::min(lines.stride, last - span) - first;
  return present - std::max<std::int64_t>(0, inside);
}

}  // namespace

std::int64_t lines_leaving(std::int64_t begin, std::int64_t end, AxisLines lines) {
  const std::int64_t block = lines.stride * lines.extent;
  const std::int64_t first_block = begin / block * block;
  const std::int64_t last_block = (end - 1) / block * block;
  const std::int64_t leaving =
      leaving_part(begin - first_block, std::min(end - first_block, block), lines);
  return last_block == first_block ? leaving : leaving + leaving_part(0, end - last_block, lines);
}

std::int64_t most_lines_leaving(std::int64_t bin, AxisLines lines) {
  constexpr int bins_tried = 64;
  const std::int64_t block = lines.stride * lines.extent;
  std::int64_t most = 0;
  std::int64_t begin = 0;
  for (int i = 0; i < bins_tried && begin < lines.devices && most < lines.stride * 2; ++i) {
    most = std::max(most, lines_leaving(begin, std::min(begin + bin, lines.devices), lines));
    begin += bin;
    if (begin % block == 0) break;  // from here on the pattern repeats
  }
  return most;
}

FatTreeRates::FatTreeRates(const Node& node, const FatTreeNetwork& network)
    : devices_per_node_(node.devices),
      nics_per_rail_(static_cast<double>(node.nics.size()) / static_cast<double>(network.rails)),
      tree_(network, static_cast<std::int64_t>(node.nics.size()), 1) {
  for (std::int32_t nic : nic_of_devices(node)) rail_of_.push_back(tree_.rail(nic));
}

// The busiest leaf of a unit that `leaving` lines leave: what stays on its rail and leaves the
// unit, and what changes to another rail, even to a node beside.
double FatTreeRates::rail_load(AxisLines lines, const NodeLoad& node, double leaving) const {
  const std::int64_t d = devices_per_node_;
  const double nodes =
      static_cast<double>(std::min(tree_.nodes_below(0), (lines.devices + d - 1) / d));
  if (lines.stride < d) {
    const double on_rail = node.nic * leaving / static_cast<double>(lines.stride);
    return nics_per_rail_ * std::min(node.nic * nodes, on_rail + node.off_rail * nodes);
  }
  // One hop of `extent` goes back to the start of its line.
  const double back = 1.0 / static_cast<double>(lines.extent);
  const std::int64_t forth_shift = lines.stride % d;
  const std::int64_t back_shift = (d - lines.stride * (lines.extent - 1) % d) % d;
  double most = 0.0;
  for (std::int32_t rail = 0; rail < tree_.rails(); ++rail) {
    double load = 0.0;
    for (std::int64_t device = 0; device < d; ++device) {
      if (rail_of_[device] != rail) continue;
      const double changing = (rail_of_[(device + forth_shift) % d] != rail ? 1.0 - back : 0.0) +
                              (rail_of_[(device + back_shift) % d] != rail ? back : 0.0);
      load += changing * nodes + (1.0 - changing) * leaving / static_cast<double>(d);
    }
    most = std::max(most, load);
  }
  return most;
}

double FatTreeRates::rate(AxisLines lines, const NodeLoad& node) const {
  double rate = node.rate;
  for (int tier = 0; tier < tree_.linked_tiers(); ++tier) {
    const auto leaving =
        static_cast<double>(most_lines_leaving(tree_.nodes_below(tier) * devices_per_node_, lines));
    const bool of_rails = tier == 0 && tree_.rails() > 1;
    const double load = of_rails ? rail_load(lines, node, leaving) : leaving;
    if (load > 0.0) rate = std::min(rate, tree_.up_capacity(tier) / load);
  }
  return rate;
}

}  // namespace fourfold::inline platforms::inline network
