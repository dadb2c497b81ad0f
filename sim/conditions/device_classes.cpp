// Marks the lines of the grid that slow ranks lie on; see device_classes.hpp.
#include "sim/conditions/device_classes.hpp"

#include <algorithm>

namespace fourfold::inline sim::inline conditions {

std::vector<std::int64_t> DeviceClasses::samples() const {
  const auto ranks = static_cast<std::int64_t>(of_rank.size());
  std::vector<std::int64_t> samples;
  if (names.size() == 1) {
    samples = {0, ranks / 2, ranks - 1};
    samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
    return samples;
  }
  for (std::size_t c = 0; c < names.size(); ++c) {
    const auto first = std::find(of_rank.begin(), of_rank.end(), static_cast<std::int8_t>(c));
    samples.push_back(first - of_rank.begin());
  }
  return samples;
}

DeviceClasses device_classes(const ProcessGrid& grid, const std::vector<double>& factors) {
  constexpr std::int8_t none = -1;
  DeviceClasses classes;
  classes.of_rank.assign(static_cast<std::size_t>(grid.size()), none);
  std::vector<std::int64_t> slow;
  for (std::size_t rank = 0; rank < factors.size(); ++rank) {
    if (factors[rank] > 1.0) slow.push_back(static_cast<std::int64_t>(rank));
  }
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& ranks) {
    const auto number = static_cast<std::int8_t>(classes.names.size());
    bool any = false;
    for (std::int64_t rank : ranks) {
      std::int8_t& entry = classes.of_rank[static_cast<std::size_t>(rank)];
      if (entry != none) continue;
      entry = number;
      any = true;
    }
    if (any) classes.names.push_back(name);
  };
  if (!slow.empty()) add(slow.size() == 1 ? "the slow device" : "the slow devices", slow);
  for (Axis axis : every_axis) {
    std::vector<std::int64_t> beside;
    for (std::int64_t rank : slow) {
      const auto line = grid.line(rank, axis);
      beside.insert(beside.end(), line.begin(), line.end());
    }
    add(std::string("in a group along ") + name(axis) + " with " +
            (slow.size() == 1 ? "it" : "one of them"),
        beside);
  }
  std::vector<std::int64_t> all;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) all.push_back(rank);
  add(slow.empty() ? "all devices" : "all others", all);
  return classes;
}

}  // namespace fourfold::inline sim::inline conditions
