// Lowering of a folded schedule; see lower.hpp. It is long because bodies, loads and queues are
// lowered by one class.
#include "sim/cost/lower.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "platforms/network/pair_loads.hpp"
#include "schedule/fold/pieces.hpp"
#include "schedule/models/fit.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/protocol.hpp"
#include "sim/cost/protocol_forms.hpp"
#include "sim/cost/waiting.hpp"

namespace fourfold::inline sim::inline cost {

namespace {

// Gradients of a stage are reduced while the stage before it is already at work.
Slice busy_beside(Slice stage, Axis axis) {
  if (axis == Axis::data && stage.in_flight > 0) ++stage.in_flight;
  return stage;
}

// Bandwidth that the links give a group of a channel, while all groups like it are busy that can
// be.
BytesPerSecond link_rate(const Channel& channel, const Target& target, Slice stage) {
  const ProcessGrid& grid = target.grid;
  const AxisRates& rates = target.rates;
  const std::int64_t stride = target.shapes[static_cast<std::size_t>(channel.axis)].stride;
  const std::int64_t extent = grid.extent(channel.axis);
  switch (channel.group) {
    case Group::line:
      return rates.rate(stride, extent, grid.size(), busy_beside(stage, channel.axis));
    case Group::ends:
    case Group::wrap:
    case Group::wrap_back:
      // In a node like neighbours; else as if there were as many pairs at that distance as devices
      // between the ends.
      if (target.shapes[static_cast<std::size_t>(channel.axis)].nodes == 1) {
        return rates.rate(stride, 2, grid.size() / extent * 2);
      }
      return rates.rate(stride * (extent - 1), 2, 2 * stride * (extent - 1));
    default:
      return rates.rate(stride, 2, grid.size() / extent * (extent / 2 * 2));
  }
}

}  // namespace

bool goes_beside_products(const Software& software, const ProcessGrid& grid) {
  return software.beside_products && grid.extent(Axis::x) > 1;
}

bool stages_differ(const Target& target) {
  const std::int64_t stages = target.grid.extent(Axis::pipe);
  const std::int64_t in_stage = target.grid.size() / stages;
  return stages > 1 && in_stage % target.platform.node.devices != 0 &&
         target.rates.counted(target.grid.size());
}

std::int64_t micro_batch_tokens(const Point& point) {
  return point.global_batch * tokens_of_sequence(point.model, point.options) /
         point.options.micro_batches;
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

GroupShapes group_shapes(const ProcessGrid& grid, std::int64_t devices_per_node,
                         const RankOrder& order) {
  GroupShapes shapes;
  for (Axis axis : every_axis) {
    shapes[static_cast<std::size_t>(axis)] =
        packed_group(grid.extent(axis), order.distance(grid, axis), devices_per_node);
  }
  return shapes;
}

GroupShapes group_shapes(const Point& point, const Platform& platform) {
  GroupShapes shapes = group_shapes(point.grid, platform.node.devices, point.options.rank_order);
  if (point.what_ifs.placement.by != Placing::devices) return shapes;
  const Mapping mapping = mapping_of(point, platform);
  for (Axis axis : every_axis) {
    shapes[static_cast<std::size_t>(axis)].nodes =
        most_nodes(point.grid, axis, mapping, platform.node.devices);
  }
  return shapes;
}

int devices_a_node(const Point& point, const Platform& platform) {
  if (point.what_ifs.placement.by != Placing::devices) return platform.node.devices;
  std::map<std::int64_t, int> count;  // by node
  int most = 0;
  for (std::int64_t device : mapping_of(point, platform).devices) {
    most = std::max(most, ++count[device / platform.node.devices]);
  }
  return most;
}

GroupShape group_shape(const Channel& channel, const GroupShapes& shapes,
                       std::int64_t devices_per_node) {
  const GroupShape line = shapes[static_cast<std::size_t>(channel.axis)];
  if (channel.group == Group::line || line.members == 1) return line;
  const std::int64_t stride = line.stride;
  const bool neighbours = channel.group != Group::ends && channel.group != Group::wrap &&
                          channel.group != Group::wrap_back;
  if (neighbours) {
    GroupShape pair = packed_group(2, stride, devices_per_node);
    pair.nodes = std::min(pair.nodes, line.nodes);
    return pair;
  }
  return {2, line.nodes > 1 ? 2 : 1, stride * (line.members - 1)};
}

namespace {

// Lowers one stage after the other into a program whose channels are known.
class Lowering {
 public:
  Lowering(const Target& target, TimedProgram& program)
      : target_(target),
        program_(program),
        slowest_(slowest(target.platform.processor, target.grid.size())),
        slowdown_(slowdown(target.platform.node, target.grid.size())) {
    for (const Channel& channel : program_.channels) {
      shapes_.push_back(group_shape(channel, target.shapes, target.platform.node.devices));
    }
    place(stage_of(Slice::slowest));
  }

  // Where the stages' groups lie otherwise, each has links of its own.
  void stage(const Folded& folded, const LocalSizes& sizes) {
    const auto number = static_cast<std::int64_t>(program_.stages.size());
    if (stages_differ(target_)) place(stage_of(number));
    bodies(folded, sizes);
    const auto first = static_cast<std::int32_t>(program_.cycles.size());
    for (const BodyCycle& cycle : folded.cycles) add(cycle);
    if (folded.ready.limit > 0) program_.queues.push_back(queue(folded, first));
    program_.stages.push_back({first, static_cast<std::int32_t>(program_.cycles.size())});
  }

  bool waits() const { return target_.platform.processor.repetition_spread > 0.0; }

  // The bodies of a kind of stages, as runs.
  TimedBodies::Kind kind(const Folded& folded, const LocalSizes& sizes) {
    const TimedBodies::Kind kind{static_cast<std::int32_t>(program_.runs.size()),
                                 static_cast<std::int32_t>(program_.collectives.size())};
    bodies(folded, sizes);
    program_.runs.insert(program_.runs.end(), bodies_.begin(), bodies_.end());
    return kind;
  }

 private:
  Slice stage_of(std::int64_t number) const {
    const GroupShape pipe = target_.shapes[static_cast<std::size_t>(Axis::pipe)];
    return {pipe.stride, pipe.members, number, target_.in_flight};
  }

  // The rates and loads of a stage, or of the slowest for all of them.
  void place(Slice stage) {
    rates_.clear();
    const std::int64_t number = stage.index == Slice::slowest ? 0 : stage.index;
    first_load_ = static_cast<std::size_t>(number) * program_.channels.size();
    program_.loads.resize(first_load_ + program_.channels.size());
    for (std::size_t c = 0; c < program_.channels.size(); ++c) {
      const Channel& channel = program_.channels[c];
      rates_.push_back(shapes_[c].members == 1 ? BytesPerSecond{}
                                               : link_rate(channel, target_, stage));
      load(c, stage);
    }
  }

  // Messages between stages are alone on their way.
  void load(std::size_t number, Slice stage) {
    const Channel& channel = program_.channels[number];
    const GroupShape shape = shapes_[number];
    ChannelLoad& load = program_.loads[first_load_ + number];
    load.shares.clear();
    load.plateau = {};
    load.across = shape.nodes > 1;
    const bool alone = channel.group != Group::line || shape.members == 1;
    if (alone || !target_.rates.shared()) return;
    target_.rates.shares({shape.stride, shape.members, target_.grid.size()},
                         busy_beside(stage, channel.axis), load.shares);
    const std::int32_t own = load.across ? 0 : 1 + static_cast<std::int32_t>(channel.axis);
    load.shares.push_back({target_.rates.links() + own, 0.0});
    if (!target_.platform.library.measured_in_node() || load.across) {
      widen(load, plateau(target_.platform.library, shape));
    }
  }

  // What one collective reaches alone, all reach together.
  static void widen(ChannelLoad& load, BytesPerSecond rate) {
    if (load.shares.empty() || rate.value <= load.plateau.value) return;
    load.plateau = rate;
    load.shares.back().share = 1.0 / rate.value;
  }

  void bodies(const Folded& folded, const LocalSizes& sizes) {
    require_host_link(folded);
    channel_of_.clear();
    for (const Channel& channel : folded.channels) {
      const auto found = std::find(program_.channels.begin(), program_.channels.end(), channel);
      channel_of_.push_back(static_cast<ChannelNumber>(found - program_.channels.begin()));
    }
    require_rates(folded);
    first_collective_ = static_cast<std::int32_t>(program_.collectives.size());
    for (const CollectiveClass& c : folded.collectives) collective(c, sizes);
    classes_.clear();
    for (const OpClass& op : folded.classes) classes_.push_back(kernel(op, sizes));
    bodies_.clear();
    for (const Body& body : folded.bodies) add(body, folded);
  }

  void require_host_link(const Folded& folded) const {
    if (target_.platform.processor.host_link) return;
    if (folded.on_host.empty() && !folded.copies_to_host) return;
    throw std::invalid_argument(
        target_.platform.name + " does not say what a device's link to its host sustains, which " +
        (folded.copies_to_host ? "activations on the host need" : "an offloaded optimizer needs") +
        ": processor.host_link_GBps");
  }

  // Of one operation: its seconds on the slowest device, and how they vary. Rates of products and
  // attention do.
  struct Kernel {
    Seconds time;
    StepVariation varies;
  };

  bool varies() const {
    const Processor& processor = target_.platform.processor;
    return processor.spread > 0.0 || processor.repetition_spread > 0.0;
  }

  Kernel kernel(const OpClass& op, const LocalSizes& sizes) const {
    const Processor& processor = target_.platform.processor;
    const auto time = [&](double longer) {
      return kernel_time_on(op, sizes, target_.platform, longer) * slowdown_;
    };
    const bool has_rate = op.kind == OpKind::gemm || op.function->arithmetic != nullptr;
    if (!has_rate || !varies()) return {time(1.0), {}};
    const double longer = slowest_ > 1.0 ? slowest_ : 1.0 + processor.repetition_spread;
    const Seconds of_median = time(1.0);
    const Seconds beyond = time(longer) - of_median;
    const Seconds by_rate = beyond / (longer - 1.0);
    if (slowest_ == 1.0) return {of_median, {{}, {}, by_rate * processor.repetition_spread}};
    return {of_median + beyond,
            {beyond, by_rate * processor.spread, by_rate * processor.repetition_spread}};
  }

  // Products of narrow factors are refused where nobody says how fast they are.
  void require_rates(const Folded& folded) const {
    const Processor& processor = target_.platform.processor;
    const auto does = [&](const Function& function) {
      return std::ranges::any_of(folded.classes,
                                 [&](const OpClass& op) { return op.function == &function; });
    };
    const bool mx = does(functions::cast_mx);
    const bool narrow = mx || does(functions::cast_delayed) || does(functions::cast_current);
    if (narrow && processor.gemm_fp8.empty()) {
      throw std::invalid_argument(target_.platform.name +
                                  " has no products of 8 bits: it does not say their rates "
                                  "(processor.gemm_fp8); ask for --products stored");
    }
    if (mx && !processor.mxfp8_over_fp8) {
      throw std::invalid_argument(target_.platform.name +
                                  " has no products with a scale for each 32 elements "
                                  "(processor.mxfp8_over_fp8); ask for --products fp8-current");
    }
  }

  ChannelNumber channel(ChannelNumber of_stage) const {
    return channel_of_[static_cast<std::size_t>(of_stage)];
  }

  void collective(const CollectiveClass& c, const LocalSizes& sizes) {
    const ChannelNumber number = channel(c.channel);
    const GroupShape shape = shapes_[static_cast<std::size_t>(number)];
    if (shape.members == 1) {
      program_.collectives.push_back({number, c.kind, {}, {}});
      return;
    }
    const Motion motion = row_of(c.kind).motion;
    const CollectiveTask task{
        c.kind,
        {sizes.bytes[static_cast<std::size_t>(c.buffer)]},
        shape,
        goes_by_pairs(motion) ? exchange_rate(target_.platform, motion,
                                              {shape.stride, shape.members, target_.grid.size()})
                              : rates_[static_cast<std::size_t>(number)],
        std::min<std::int64_t>(target_.grid.size(), target_.platform.node.devices)};
    const CollectiveChoice choice =
        choose_collective(target_.platform.library, task,
                          applies(target_.tuning, c.kind, shape) ? target_.tuning : own_choice_);
    program_.collectives.push_back({number, c.kind, choice.cost, choice.uncontended,
                                    choice.algorithm, choice.protocol,
                                    interference_of(target_.platform, choice)});
    ChannelLoad& load = program_.loads[first_load_ + static_cast<std::size_t>(number)];
    if (goes_by_pairs(motion)) {
      load = {};  // plateaus are of rings
    } else {
      widen(load, rate_alone(program_.collectives.back()));
    }
  }

  void add(const Body& body, const Folded& folded) {
    StepRun run{static_cast<std::int32_t>(program_.steps.size()), 0, 1};
    Seconds pending;
    StepVariation varies;  // of what is pending, but for the square of its repetitions
    double variance = 0.0;
    bool computes = false;
    const auto flush = [&] {
      if (computes) {
        varies.repetition = {std::sqrt(variance)};
        push({StepKind::compute, {}, -1, 0, pending}, varies);
      }
      pending = {};
      varies = {};
      variance = 0.0;
      computes = false;
    };
    const std::int64_t along_x = target_.grid.extent(Axis::x);
    const auto compute = [&](std::int32_t c, std::int32_t, Piece piece) {
      const Kernel& kernel = classes_[static_cast<std::size_t>(c)];
      const double part = part_of_kernel(piece, along_x);
      pending += kernel.time * part;
      varies.beyond_median += kernel.varies.beyond_median * part;
      varies.deviation += kernel.varies.deviation * part;
      const double deviation = kernel.varies.repetition.value * part;
      variance += deviation * deviation;
      computes = true;
    };
    const auto communicate = [&](const FoldedStep& step) {
      if (step.kind == IssueKind::choose) {
        flush();
        push({StepKind::choose, {}, -1, 0, {}}, {});
        return;
      }
      const ChannelNumber number = channel(step.channel);
      if (shapes_[static_cast<std::size_t>(number)].members == 1) return;
      flush();
      const bool post = step.kind == IssueKind::start;
      push({post ? StepKind::post : StepKind::wait,
            number,
            post ? first_collective_ + step.index : -1,
            step.back,
            {}},
           {});
      program_.max_back = std::max(program_.max_back, step.back);
    };
    PieceOrder(folded, body)
        .each(goes_beside_products(target_.platform.software, target_.grid), compute, communicate);
    flush();
    run.last = static_cast<std::int32_t>(program_.steps.size());
    bodies_.push_back(run);
    if (waits() && target_.grid.extent(Axis::pipe) > 1) {
      if (!waiting_) waiting_.emplace(program_, target_.grid);
      waiting_->body(run);
    }
  }

  void push(const TimedStep& step, const StepVariation& varies) {
    program_.steps.push_back(step);
    if (this->varies()) program_.variations.push_back(varies);
  }

  void add(const BodyCycle& cycle) {
    RunCycle timed{static_cast<std::int32_t>(program_.runs.size()), 0, cycle.repeats};
    for (const BodyRun& run : cycle.runs) {
      StepRun steps = bodies_[static_cast<std::size_t>(run.body)];
      steps.repeats = run.repeats;
      program_.runs.push_back(steps);
    }
    timed.last = static_cast<std::int32_t>(program_.runs.size());
    program_.cycles.push_back(timed);
  }

  // A micro-batch's turn is a stretch of runs of one part, one in each repetition of a cycle.
  TimedQueue queue(const Folded& folded, std::int32_t first_cycle) const {
    TimedQueue result;
    result.first = result.last = first_cycle;
    result.limit = folded.ready.limit;
    result.micro_batches = folded.ready.turns / 2;
    for (std::size_t c = 0; c < folded.cycles.size(); ++c) {
      const std::int32_t number = first_cycle + static_cast<std::int32_t>(c);
      const std::vector<BodyRun>& runs = folded.cycles[c].runs;
      const std::int32_t first_run = program_.cycles[static_cast<std::size_t>(number)].first;
      bool queued = false;
      for (std::size_t r = 0; r < runs.size(); ++r) {
        const StepPart part = runs[r].part;
        if (part != StepPart::forward && part != StepPart::backward) continue;
        queued = true;
        auto& turns = part == StepPart::forward ? result.forwards : result.backwards;
        const std::int32_t run = first_run + static_cast<std::int32_t>(r);
        if (r == 0 || runs[r - 1].part != part) {
          turns.push_back({run, run, folded.cycles[c].repeats});
        }
        turns.back().last = run + 1;
      }
      if (!queued) continue;
      if (result.first == result.last) result.first = number;
      result.last = number + 1;
    }
    const auto stages = target_.grid.extent(Axis::pipe);
    const auto stage = static_cast<std::int64_t>(program_.stages.size());
    if (stage > 0) result.forward = number_of(forward_from(stage - 1, stages));
    if (stage + 1 < stages) result.backward = number_of(backward_from(stage + 1));
    return result;
  }

  ChannelNumber number_of(const Channel& channel) const {
    const auto found = std::ranges::find(program_.channels, channel);
    return static_cast<ChannelNumber>(found - program_.channels.begin());
  }

  const Target& target_;
  TimedProgram& program_;
  const CollectiveTuning own_choice_;
  std::vector<GroupShape> shapes_;     // by channel of the program
  std::vector<BytesPerSecond> rates_;  // by channel of the program
  std::vector<ChannelNumber> channel_of_;
  std::vector<Kernel> classes_;
  std::vector<StepRun> bodies_;
  std::optional<WaitingWalk> waiting_;  // within a body, of pipelines
  std::int32_t first_collective_ = 0;
  std::size_t first_load_ = 0;  // of the stage
  const double slowest_, slowdown_;
};

// What was measured of a node's rings holds for those of all stages.
void share_plateaus(TimedProgram& program) {
  const std::size_t channels = program.channels.size();
  for (std::size_t c = 0; c < channels; ++c) {
    BytesPerSecond most;
    for (std::size_t i = c; i < program.loads.size(); i += channels) {
      most = std::max(most, program.loads[i].plateau);
    }
    for (std::size_t i = c; i < program.loads.size(); i += channels) {
      ChannelLoad& load = program.loads[i];
      if (most.value <= 0.0 || load.shares.empty()) continue;
      load.plateau = most;
      load.shares.back().share = 1.0 / most.value;
    }
  }
}

// All but the channels.
void clear(TimedProgram& program) {
  program.collectives.clear();
  program.steps.clear();
  program.runs.clear();
  program.cycles.clear();
  program.stages.clear();
  program.queues.clear();
  program.variations.clear();
  program.max_back = 0;
  program.longest_waiting = {};
}

}  // namespace

void lower(std::span<const Folded> stages, const std::vector<LocalSizes>& sizes,
           const Target& target, TimedProgram& program) {
  program.channels = stages.front().channels;
  if (stages.size() > 1) {
    for (const Folded& stage : stages) {
      for (const Channel& channel : stage.channels) {
        if (std::ranges::count(program.channels, channel) == 0) program.channels.push_back(channel);
      }
    }
    std::ranges::sort(program.channels, in_order);
  }
  clear(program);
  Lowering lowering(target, program);
  for (std::size_t i = 0; i < stages.size(); ++i) lowering.stage(stages[i], sizes[i]);
  share_plateaus(program);
  if (lowering.waits() && target.grid.extent(Axis::pipe) == 1) {
    WaitingWalk(program, target.grid).whole();
  }
}

void lower(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes, const Target& target,
           TimedBodies& bodies) {
  bodies.program.channels = pipeline.channels();
  clear(bodies.program);
  bodies.kinds.clear();
  Lowering lowering(target, bodies.program);
  for (std::size_t k = 0; k < pipeline.kinds().size(); ++k) {
    const auto stage = static_cast<std::size_t>(pipeline.kinds()[k].stage);
    bodies.kinds.push_back(lowering.kind(pipeline.stages()[stage], sizes[k]));
  }
}

}  // namespace fourfold::inline sim::inline cost
