// From words to ranks; see conditions.hpp.
#include "sim/conditions/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "schedule/fold/short_folds.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/lower.hpp"

namespace fourfold::inline sim::inline conditions {

namespace {

// By place.
Mapping placed(const Point& point, const Platform& platform) {
  const std::int64_t ranks = point.grid.size();
  const Placement& placement = point.what_ifs.placement;
  switch (placement.by) {
    case Placing::packed:
      break;
    case Placing::spread:
      return Mapping::spread(ranks, platform);
    case Placing::random:
      return Mapping::random(ranks, platform, point.what_ifs.seed);
    case Placing::nodes:
      return Mapping::on_nodes(ranks, platform, placement.list);
    case Placing::devices:
      return Mapping::on_devices(ranks, platform, placement.list);
  }
  return Mapping::packed(ranks);
}

}  // namespace

Mapping mapping_of(const Point& point, const Platform& platform) {
  const RankOrder& order = point.options.rank_order;
  Mapping mapping = placed(point, platform);
  if (order.as_numbered()) return mapping;
  if (point.what_ifs.placement.by == Placing::devices) {
    throw std::invalid_argument(
        "the rank order cannot take effect: a placement by devices says where each rank lies");
  }
  const Mapping by_place = mapping;
  for (std::int64_t rank = 0; rank < mapping.ranks(); ++rank) {
    mapping.devices[static_cast<std::size_t>(rank)] =
        by_place.devices[static_cast<std::size_t>(order.place(point.grid, rank))];
  }
  return mapping;
}

std::vector<double> compute_factors(const Point& point, const Mapping& mapping) {
  const SlowDevices& slow = point.what_ifs.slow_devices;
  if (slow.none()) return {};
  std::vector<double> factors(static_cast<std::size_t>(mapping.ranks()), 1.0);
  const auto list = [&](const SlowDevices& one) {
    for (std::int64_t device : one.devices) {
      const auto found = std::find(mapping.devices.begin(), mapping.devices.end(), device);
      if (found == mapping.devices.end()) {
        throw std::runtime_error(fmt::format(
            "device {} is to be slow, but the job does not use it; it lies on {} devices, the last "
            "is {}",
            device, mapping.ranks(),
            *std::max_element(mapping.devices.begin(), mapping.devices.end())));
      }
      double& factor = factors[static_cast<std::size_t>(found - mapping.devices.begin())];
      if (factor != 1.0) {
        throw std::runtime_error(
            fmt::format("device {} is to be slow twice; say once how fast it is", device));
      }
      factor = 1.0 / one.speed;
    }
  };
  list(slow);
  for (const SlowDevices& one : slow.besides) list(one);
  std::vector<std::int64_t> free;
  for (std::int64_t rank = 0; rank < mapping.ranks(); ++rank) {
    if (factors[static_cast<std::size_t>(rank)] == 1.0) free.push_back(rank);
  }
  for (const SlowRanks& counted : counted_slow_ranks(slow, std::move(free))) {
    for (std::int64_t rank : counted.ranks) {
      factors[static_cast<std::size_t>(rank)] = 1.0 / counted.speed;
    }
  }
  return factors;
}

Jitter jitter_of(const WhatIfs& what_ifs) {
  if (what_ifs.draws_spreads) return Jitter::of_machine(what_ifs.seed);
  if (what_ifs.jitter_percent == 0.0) return {};
  return Jitter(what_ifs.jitter_percent / 100.0, what_ifs.seed);
}

void refuse_idle_jitter(const WhatIfs& what_ifs, const Platform& platform) {
  const Processor& processor = platform.processor;
  if (!what_ifs.draws_spreads || processor.spread + processor.repetition_spread > 0.0) return;
  throw std::invalid_argument(fmt::format(
      "the jitter of the machine cannot take effect: {} says neither processor.spread nor "
      "processor.repetition_spread",
      platform.name));
}

std::string idle_tuning(const Point& point, const Platform& platform) {
  const CollectiveTuning& tuning = point.what_ifs.collective;
  if (!tuning.algorithm) return "";
  const GroupShapes shapes = group_shapes(point, platform);
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  for (const Folded& folded :
       folded_stages(point.model, in_effect(point.options, point.grid), stages)) {
    for (const CollectiveClass& one : folded.collectives) {
      const Channel& channel = folded.channels[static_cast<std::size_t>(one.channel)];
      const GroupShape shape = group_shape(channel, shapes, platform.node.devices);
      if (applies(tuning, one.kind, shape)) return "";
    }
  }
  return fmt::format(
      "the collective algorithm '{}' cannot take effect on grid {}: no group of it on {} can use "
      "it or would use anything else{}",
      name(tuning), point.grid.str(), platform.name,
      tuning.algorithm == CollectiveAlgorithm::tree ? "; a tree needs an all-reduce over nodes"
                                                    : "");
}

}  // namespace fourfold::inline sim::inline conditions
