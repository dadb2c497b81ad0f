// Questions to the timed rungs, drawn over all options on machines whose round numbers belong to
// the tests: no fact of a real machine moves their answers.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "platforms/network/topology.hpp"
#include "platforms/platform.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/question/point.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/machines.hpp"

namespace fourfold::tests {

// Seconds with so many digits; what is left over of a difference counts as nothing.
inline std::string in_digits(Seconds seconds, int digits = 10) {
  const bool rounding = std::abs(seconds.value) < 1e-12;
  return fmt::format("{:.{}g}", rounding ? 0.0 : seconds.value, digits);
}

struct DrawnPoint {
  std::string machine;
  Point point;
  Platform platform;
  std::string step_words;  // what was drawn of the step
  std::string words;       // all else
};

// A half or twice one of the machine's facts, where that is a machine, too.
inline void scale_one_fact(const Draw& draw, DrawnPoint& drawn) {
  const auto& facts = drawn.platform.facts;
  const std::string key =
      facts[static_cast<std::size_t>(draw.below("fact", static_cast<std::int64_t>(facts.size())))]
          .key;
  const Scales scales{{key, draw.of("factor", {0.5, 2.0})}};
  try {
    drawn.platform = read_platform(drawn.point.platform, scales);
  } catch (const std::runtime_error&) {
    return;
  }
  drawn.point.scales = scales;
  drawn.words += ", " + key + " x " + (scales.begin()->second > 1.0 ? "2" : "1/2");
}

inline DrawnPoint drawn_point(std::int64_t number, std::int64_t most_devices) {
  const Draw draw(number, 0);
  DrawnPoint drawn;
  drawn.machine = fixed_machines[static_cast<std::size_t>(number) % fixed_machines.size()];
  drawn.point.platform = path_of_machine(drawn.machine);
  drawn.platform = read_platform(drawn.point.platform);
  DrawnStep step = drawn_step(number, most_devices);
  if (!drawn.platform.processor.host_link) step.options.offload_bucket = 0;
  drawn.step_words = words_of(step);
  drawn.words = drawn.machine;
  drawn.point.model = step.model;
  drawn.point.grid = step.grid;
  drawn.point.global_batch = step.batch;
  drawn.point.options = step.options;
  if (draw.often("scale", 30)) scale_one_fact(draw, drawn);
  if (draw.often("collective", 35)) {
    const std::string tuning =
        draw.of<std::string>("tuning", {"ring", "tree", "recursive", "hierarchical",
                                        "all-reduce:tree", "all-reduce:hierarchical",
                                        "all-gather:recursive", "reduce-scatter:hierarchical"});
    drawn.point.what_ifs.collective = collective_tuning(tuning);
    drawn.words += ", " + tuning;
  }
  return drawn;
}

// The same on the next of the machines that are shipped, as it is.
inline void move_to_a_shipped_machine(std::int64_t number, DrawnPoint& drawn) {
  static const std::vector<std::string> machines = known_platforms();
  drawn.machine = machines[static_cast<std::size_t>(number) % machines.size()];
  drawn.words += ", on " + drawn.machine;
  drawn.point.platform = drawn.machine;
  drawn.point.scales = {};
  drawn.platform = read_platform(drawn.machine);
  if (!drawn.platform.processor.host_link) drawn.point.options.offload_bucket = 0;
}

// A link that the rings along some axis load is narrow, or a NIC of the first rank's node is gone.
inline void add_a_fault(const Draw& draw, DrawnPoint& drawn) {
  const ProcessGrid& grid = drawn.point.grid;
  const Mapping mapping = mapping_of(drawn.point, drawn.platform);
  const Topology topology(drawn.platform, mapping.nodes(drawn.platform.node.devices));
  const std::int64_t node = mapping.devices.front() / drawn.platform.node.devices;
  if (drawn.machine.starts_with("crossbar")) {
    drawn.point.what_ifs.degrade = {
        {"device:" + std::to_string(mapping.devices.back()), draw.of("width", {0.2, 0.7})}};
    return;
  }
  if (draw.often("fail", 30)) {
    drawn.point.what_ifs.fail.push_back({"nic:" + std::to_string(node) + ".0", 1});
    return;
  }
  for (Axis axis : all_axes) {
    if (grid.extent(axis) < 2 || axis == Axis::pipe) continue;
    const Footprint links = topology.ring_footprint(mapping.apply(grid.line(0, axis)), 0);
    const auto chosen = draw.below("link", static_cast<std::int64_t>(links.size()));
    drawn.point.what_ifs.degrade = {
        {topology.link_name(links[static_cast<std::size_t>(chosen)].link),
         draw.of("width", {0.2, 0.7})}};
    if (draw.often("this axis", 50)) return;
  }
}

// What only a simulation has, besides: devices and links that differ.
inline DrawnPoint drawn_uneven_point(std::int64_t number, std::int64_t most_devices) {
  const Draw draw(number, 0);
  DrawnPoint drawn = drawn_point(number, most_devices);
  WhatIfs& what_ifs = drawn.point.what_ifs;
  const std::int64_t ranks = drawn.point.grid.size();
  const std::int64_t in_node = drawn.platform.node.devices;
  what_ifs.seed = static_cast<std::uint64_t>(number + 1);
  const auto network_has_groups = [&] {
    return !drawn.machine.starts_with("crossbar") && drawn.machine != "torus";
  };
  switch (draw.below("placement", 6)) {
    case 0:
      if (network_has_groups()) what_ifs.placement.by = Placing::spread;
      break;
    case 1:
      what_ifs.placement.by = Placing::random;
      break;
    case 2:  // every other node, from the last one down
      what_ifs.placement.by = Placing::nodes;
      for (std::int64_t i = (ranks + in_node - 1) / in_node - 1; i >= 0; --i) {
        what_ifs.placement.list.push_back(2 * i % drawn.platform.nodes);
      }
      break;
    case 3:  // ranks in turn on the machine's first nodes
      what_ifs.placement.by = Placing::devices;
      for (std::int64_t i = 0; i < ranks; ++i) {
        const std::int64_t nodes = (ranks + in_node - 1) / in_node;
        what_ifs.placement.list.push_back(i % nodes * in_node + i / nodes);
      }
      break;
    default:
      break;
  }
  if (draw.often("jitter", 25)) what_ifs.jitter_percent = draw.of("percent", {0.5, 3.0});
  if (draw.often("slow", 30)) {
    what_ifs.slow_devices.speed = draw.of("speed", {0.5, 0.9});
    what_ifs.slow_devices.count = draw.of<std::int64_t>("slow ones", {1, 2});
  }
  if (draw.often("faults", 45)) add_a_fault(draw, drawn);
  return drawn;
}

}  // namespace fourfold::tests
