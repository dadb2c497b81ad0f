// Lowering of a folded schedule; see lower.hpp.
#include "sim/cost/lower.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/protocol.hpp"

namespace fourfold {

namespace {

// Bandwidth that the links give a group of every axis; the axis of extent 1 has no group.
std::array<BytesPerSecond, axis_count> link_rates(const ProcessGrid& grid, const AxisRates& rates) {
  std::array<BytesPerSecond, axis_count> result{};
  for (Axis axis : all_axes) {
    if (grid.extent(axis) == 1) continue;
    result[static_cast<int>(axis)] = rates.rate(grid.stride(axis), grid.extent(axis), grid.size());
  }
  return result;
}

}  // namespace

std::int64_t micro_batch_tokens(const Point& point) {
  return point.global_batch * point.model.sequence / point.options.micro_batches;
}

namespace {

// The most nodes that a group of `axis` lies in.
std::int64_t most_nodes(const ProcessGrid& grid, Axis axis, const Mapping& mapping,
                        std::int64_t devices_per_node) {
  const std::int64_t stride = grid.stride(axis);
  const std::int64_t extent = grid.extent(axis);
  std::int64_t most = 1;
  std::vector<std::int64_t> nodes;
  for (std::int64_t first = 0; first < grid.size(); ++first) {
    if (first / stride % extent != 0) continue;
    nodes.clear();
    for (std::int64_t i = 0; i < extent; ++i) {
      nodes.push_back(mapping.devices[static_cast<std::size_t>(first + i * stride)] /
                      devices_per_node);
    }
    std::sort(nodes.begin(), nodes.end());
    most = std::max<std::int64_t>(most, std::unique(nodes.begin(), nodes.end()) - nodes.begin());
  }
  return most;
}

}  // namespace

bool applies(const CollectiveTuning& tuning, CollectiveKind kind, GroupShape shape) {
  const std::optional<CollectiveAlgorithm> forced = tuning.forced(kind);
  if (!forced || shape.members == 1 || !misfit(kind, *forced, shape).empty()) return false;
  if (*forced == CollectiveAlgorithm::ring) {
    return kind == CollectiveKind::all_reduce && shape.nodes > 1;
  }
  return *forced == CollectiveAlgorithm::recursive || shape.nodes > 1;
}

GroupShapes group_shapes(const ProcessGrid& grid, std::int64_t devices_per_node) {
  GroupShapes shapes;
  for (Axis axis : all_axes) {
    shapes[static_cast<std::size_t>(axis)] =
        packed_group(grid.extent(axis), grid.stride(axis), devices_per_node);
  }
  return shapes;
}

GroupShapes group_shapes(const Point& point, const Platform& platform) {
  GroupShapes shapes = group_shapes(point.grid, platform.node.devices);
  if (point.what_ifs.placement.by != Placing::devices) return shapes;
  const Mapping mapping = mapping_of(point, platform);
  for (Axis axis : all_axes) {
    shapes[static_cast<std::size_t>(axis)].nodes =
        most_nodes(point.grid, axis, mapping, platform.node.devices);
  }
  return shapes;
}

void lower(const Folded& folded, const LocalSizes& sizes, const Target& target,
           TimedProgram& program) {
  const auto& [grid, shapes, rates, platform, tuning] = target;
  const CollectiveTuning own_choice;
  const std::array<BytesPerSecond, axis_count> link = link_rates(grid, rates);

  program.channels = folded.channels;
  program.collectives.clear();
  for (const CollectiveClass& c : folded.collectives) {
    const ChannelNumber channel = c.channel;
    const int axis = static_cast<int>(program.channels[static_cast<std::size_t>(channel)].axis);
    if (shapes[axis].members == 1) {
      program.collectives.push_back({channel, c.kind, {}, {}});
      continue;
    }
    const CollectiveTask task{
        c.kind, {sizes.bytes[static_cast<std::size_t>(c.buffer)]}, shapes[axis], link[axis]};
    const CollectiveChoice choice = choose_collective(
        platform.library, task, applies(tuning, c.kind, shapes[axis]) ? tuning : own_choice);
    program.collectives.push_back(
        {channel, c.kind, choice.cost, choice.uncontended, choice.algorithm, choice.protocol});
  }

  std::vector<Seconds> classes;
  classes.reserve(folded.classes.size());
  for (const OpClass& op : folded.classes) {
    classes.push_back(kernel_time(op, sizes, platform.processor));
  }

  program.steps.clear();
  program.runs.clear();
  program.cycles.clear();
  program.max_back = 0;
  program.interference = platform.processor.interference;
  std::vector<StepRun> bodies;
  bodies.reserve(folded.bodies.size());
  for (const Body& body : folded.bodies) {
    StepRun run{static_cast<std::int32_t>(program.steps.size()), 0, 1};
    Seconds pending;
    bool computes = false;
    const auto flush = [&] {
      if (computes) program.steps.push_back({StepKind::compute, {}, -1, 0, pending});
      pending = {};
      computes = false;
    };
    for (const FoldedStep& step : body.steps) {
      if (step.kind == IssueKind::compute) {
        for (std::int32_t c : folded.bundles[static_cast<std::size_t>(step.index)]) {
          pending += classes[static_cast<std::size_t>(c)];
        }
        computes = true;
        continue;
      }
      const ChannelNumber channel = step.channel;
      if (grid.extent(program.channels[static_cast<std::size_t>(channel)].axis) == 1) continue;
      flush();
      const bool post = step.kind == IssueKind::start;
      program.steps.push_back(
          {post ? StepKind::post : StepKind::wait, channel, post ? step.index : -1, step.back, {}});
      program.max_back = std::max(program.max_back, step.back);
    }
    flush();
    run.last = static_cast<std::int32_t>(program.steps.size());
    bodies.push_back(run);
  }
  for (const BodyCycle& cycle : folded.cycles) {
    RunCycle timed{static_cast<std::int32_t>(program.runs.size()), 0, cycle.repeats};
    for (const BodyRun& run : cycle.runs) {
      StepRun steps = bodies[static_cast<std::size_t>(run.body)];
      steps.repeats = run.repeats;
      program.runs.push_back(steps);
    }
    timed.last = static_cast<std::int32_t>(program.runs.size());
    program.cycles.push_back(timed);
  }
}

}  // namespace fourfold
