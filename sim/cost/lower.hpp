// Lowering puts seconds into the folded schedules of all stages: kernel times from the processor,
// collective costs from the library, for one grid on one platform.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "platforms/network/axis_rate.hpp"
#include "platforms/platform.hpp"
#include "schedule/fold/count.hpp"
#include "schedule/fold/pipeline.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline cost {

// Tokens of one micro-batch over all devices.
std::int64_t micro_batch_tokens(const Point& point);

// By axis: members of a group and the nodes they lie in.
using GroupShapes = std::array<GroupShape, every_axis.size()>;

// On a packed mapping (a rank's place is its device), and wherever whole nodes are moved.
GroupShapes group_shapes(const ProcessGrid& grid, std::int64_t devices_per_node,
                         const RankOrder& order = {});
// By the placement of the point. Where a list of devices gives the groups of an axis different
// numbers of nodes, the most count for all: a collective has one cost for all its groups.
GroupShapes group_shapes(const Point& point, const Platform& platform);
// The most devices of a node that the point's job lies on: as many do the same at once.
int devices_a_node(const Point& point, const Platform& platform);

// Where a schedule is to run. The link rates by which the library tunes are those of a packed
// mapping: it does not know more either.
struct Target {
  const ProcessGrid& grid;
  const GroupShapes& shapes;
  const AxisRates& rates;
  const Platform& platform;
  const CollectiveTuning& tuning;  // where it applies
  std::int64_t in_flight = 0;  // micro-batches that follow each other through the stages; 0: many
};

// Whether collectives along x are cut into pieces that go beside the products they belong to.
bool goes_beside_products(const Software& software, const ProcessGrid& grid);

// Whether the groups of stages may lie on links of other rates.
bool stages_differ(const Target& target);

// Whether the tuning can change how groups of this shape do such a collective: its algorithm is
// possible there, and the library might choose or be given another.
bool applies(const CollectiveTuning& tuning, CollectiveKind kind, GroupShape shape);

// Of a channel: a line's shape is its axis's; a pair of stages, and the two ends of a pipeline, lie
// in one node or in two.
GroupShape group_shape(const Channel& channel, const GroupShapes& shapes,
                       std::int64_t devices_per_node);

// Fills `program`, reusing its storage. `sizes` must be evaluated for the same grid, by stage.
void lower(std::span<const Folded> stages, const std::vector<LocalSizes>& sizes,
           const Target& target, TimedProgram& program);

// What the kinds of stages of a pipeline are made of, with seconds, without who does it when.
struct TimedBodies {
  struct Kind {
    std::int32_t first_body = 0;        // in program.runs
    std::int32_t first_collective = 0;  // in program.collectives
  };
  TimedProgram program;  // its runs are the bodies; no cycles
  std::vector<Kind> kinds;
};
// Fills `bodies`, reusing its storage; `sizes` are those of the kinds.
void lower(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes, const Target& target,
           TimedBodies& bodies);

}  // namespace fourfold::inline sim::inline cost
