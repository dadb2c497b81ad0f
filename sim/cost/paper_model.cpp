// Equations (1)-(7) over the counted bytes; see paper_model.hpp.
#include "sim/cost/paper_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "schedule/models/fit.hpp"
#include "schedule/models/parameter_count.hpp"

namespace fourfold::inline sim::inline cost {

namespace {

BytesPerSecond in_node_bandwidth(const CollectiveLibrary& library, std::int64_t stride,
                                 std::int64_t extent) {
  for (const StridedPlateau& entry : library.in_node_by_stride) {
    if (entry.stride == stride && entry.devices == extent) return entry.bus_bandwidth;
  }
  BytesPerSecond nearest = library.in_node.front().bus_bandwidth;
  for (const Plateau& entry : library.in_node) {
    if (entry.devices <= extent) nearest = entry.bus_bandwidth;
  }
  return nearest;
}

}  // namespace

BytesPerSecond paper_bandwidth(const ProcessGrid& grid, Axis axis, const Platform& platform) {
  const std::int64_t stride = grid.stride(axis);
  const std::int64_t extent = grid.extent(axis);
  const std::int64_t per_node = platform.node.devices;
  if (stride * extent <= per_node) return in_node_bandwidth(platform.library, stride, extent);
  const BytesPerSecond whole_node = platform.library.across.back().bus_bandwidth;
  return whole_node / static_cast<double>(std::min(per_node, stride));
}

Seconds paper_communication(const Counts& counts, const ProcessGrid& grid,
                            const Platform& platform) {
  Seconds sum;
  for (std::size_t channel = 0; channel < counts.sent.size(); ++channel) {
    const Axis axis = counts.channels[channel].axis;
    if (grid.extent(axis) == 1) continue;
    sum += counts.sent[channel] / paper_bandwidth(grid, axis, platform);
  }
  return sum;
}

namespace {

// Groups of `own` devices inside a node, of which `inner` lie beside each other.
struct MeasuredGroup {
  std::int64_t inner, own;
  double bandwidth;  // bytes/s
};
struct CodedMachine {
  const char* platform;
  std::int64_t per_node;
  double across;  // bytes/s of a whole node
  std::vector<MeasuredGroup> inside;
};

// As the scripts have them, messages of 1 GB.
const std::array<CodedMachine, 2>& coded_machines() {
  static const std::array<CodedMachine, 2> machines{
      CodedMachine{"perlmutter", 4, 80e9, {{1, 2, 76e9}, {1, 4, 225e9}, {2, 2, 76e9}}},
      CodedMachine{
          "frontier",
          8,
          40e9,
          {{1, 2, 129e9}, {1, 4, 52e9}, {1, 8, 135e9}, {2, 2, 50e9}, {2, 4, 72e9}, {4, 2, 36e9}}}};
  return machines;
}

const CodedMachine& coded_machine(const std::string& platform) {
  for (const CodedMachine& machine : coded_machines()) {
    if (platform == machine.platform) return machine;
  }
  throw std::invalid_argument("the authors' scripts do not know " + platform);
}

double bandwidth(const CodedMachine& machine, std::int64_t inner, std::int64_t own) {
  if (inner * own > machine.per_node) {
    return machine.across / static_cast<double>(std::min(machine.per_node, inner));
  }
  for (const MeasuredGroup& group : machine.inside) {
    if (group.inner == inner && group.own == own) return group.bandwidth;
  }
  throw std::invalid_argument("the authors' scripts have no bandwidth of such a group");
}

// x, y and z together for 5B parameters, and in proportion for others: the scripts state powers of
// two up to 160B, each for what it is nearest to.
std::int64_t least_of_a_copy(const Model& model) {
  const double devices = parameter_count(model) / 1.25e9;
  return std::int64_t{1} << std::max(0L, std::lround(std::log2(devices)));
}

bool is_power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

}  // namespace

RankOrder coded_rank_order() {
  return RankOrder::parse("y,x,z,data,pipe");
}

bool codes_machine(const std::string& platform) {
  return std::ranges::any_of(
      coded_machines(), [&](const CodedMachine& machine) { return platform == machine.platform; });
}

Seconds coded_communication(const Model& model, std::int64_t sequences, const ProcessGrid& grid,
                            const std::string& platform) {
  const CodedMachine& machine = coded_machine(platform);
  const RankOrder order = coded_rank_order();
  constexpr double stored = 2.0;  // bytes of an element
  constexpr double summed = 4.0;  // of a gradient along data
  const auto extent = [&](Axis axis) { return static_cast<double>(grid.extent(axis)); };
  // Seconds of a ring that sends (n - 1)/n of the bytes.
  const auto ring = [&](Axis axis, double bytes) {
    if (grid.extent(axis) == 1) return 0.0;
    const double n = extent(axis);
    return (n - 1.0) / n * bytes /
           bandwidth(machine, order.distance(grid, axis), grid.extent(axis));
  };
  const auto h = static_cast<double>(model.hidden);
  const double rows = static_cast<double>(sequences * model.sequence) / extent(Axis::data);
  const double of_z = extent(Axis::z);
  struct Product {
    double from, to;  // columns
    bool swapped;
  };
  double block = 0.0;
  for (const Product& product :
       {Product{h, 3 * h, false}, {h, h, true}, {h, 4 * h, false}, {4 * h, h, true}}) {
    const Axis forward = product.swapped ? Axis::x : Axis::y;
    const Axis backward = product.swapped ? Axis::y : Axis::x;
    const double weights = product.from * product.to / (extent(Axis::x) * extent(Axis::y));
    const double result = rows / of_z * product.to / extent(backward);
    const double gradient = rows / of_z * product.from / extent(forward);
    block += 3 * ring(Axis::z, weights * stored) + 2 * ring(forward, 2 * result * stored) +
             ring(backward, 2 * gradient * stored) + ring(Axis::data, 2 * weights / of_z * summed);
  }
  return {block * static_cast<double>(model.layers)};
}

std::vector<ProcessGrid> coded_grids(const Model& model, std::int64_t sequences,
                                     std::int64_t devices, const std::string& platform,
                                     std::size_t count) {
  std::vector<std::pair<double, ProcessGrid>> grids;
  const std::int64_t least = least_of_a_copy(model);
  for (std::int64_t y = 1; y <= devices; y *= 2) {
    for (std::int64_t x = 1; x * y <= devices; x *= 2) {
      for (std::int64_t z = 1; x * y * z <= devices; z *= 2) {
        const std::int64_t copy = x * y * z;
        if (copy < least || devices % copy != 0 || !is_power_of_two(devices / copy)) continue;
        const ProcessGrid grid(x, y, z, devices / copy);
        if (sequences % replicas(grid) != 0) continue;
        if (find_misfit(model, grid, 1) != Misfit::none) continue;
        grids.emplace_back(coded_communication(model, sequences, grid, platform).value, grid);
      }
    }
  }
  std::ranges::stable_sort(grids, {}, &std::pair<double, ProcessGrid>::first);
  std::vector<ProcessGrid> first;
  for (std::size_t i = 0; i < std::min(count, grids.size()); ++i) first.push_back(grids[i].second);
  return first;
}

}  // namespace fourfold::inline sim::inline cost
