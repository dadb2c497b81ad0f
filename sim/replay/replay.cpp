// Puts the pieces together: topology, communicators, flows and ranks, attempt by attempt.
#include "sim/replay/replay.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "platforms/network/topology.hpp"
#include "sim/conditions/device_classes.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/replay/extrapolation.hpp"
#include "sim/replay/link_use.hpp"
#include "sim/replay/load.hpp"
#include "sim/replay/machine.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/queue_stream.hpp"
#include "sim/replay/ranks.hpp"
#include "sim/replay/stock_network.hpp"
#include "sim/replay/strands.hpp"

namespace fourfold::inline sim::inline replay {

namespace {

Mapping mapping_for(const ProcessGrid& grid, const Platform& platform,
                    const ReplayOptions& options) {
  if (grid.size() > platform.devices()) {
    throw std::invalid_argument("The grid " + grid.str() + " needs " + std::to_string(grid.size()) +
                                " devices, but " + platform.name + " has only " +
                                std::to_string(platform.devices()) + ".");
  }
  if (!options.mapping.devices.empty() && options.mapping.ranks() != grid.size()) {
    throw std::invalid_argument("The mapping places " + std::to_string(options.mapping.ranks()) +
                                " ranks, but the grid has " + std::to_string(grid.size()) + ".");
  }
  return options.mapping.devices.empty() ? Mapping::packed(grid.size()) : options.mapping;
}

std::vector<bool> used_channels(const TimedProgram& program) {
  std::vector<bool> used(program.channels.size(), false);
  for (const TimedStep& step : program.steps) {
    if (step.kind == StepKind::post) used[step.channel] = true;
  }
  return used;
}

// Members of a stage that share collectives inside a turn choose alike; along data they do where
// there is a channel for that.
std::int32_t crews_in_stage(const TimedProgram& program, const ProcessGrid& grid) {
  const bool together = std::ranges::count(program.channels, Channel{Axis::data, "choice"}) > 0;
  if (program.queues.empty() || together) return 1;
  return static_cast<std::int32_t>(grid.extent(Axis::data));
}

// What a channel's collectives can reach at most.
std::vector<double> largest_caps(const TimedProgram& program) {
  std::vector<double> caps(program.channels.size(), 0.0);
  for (const TimedCollective& collective : program.collectives) {
    double& cap = caps[collective.channel];
    cap = std::max(cap, collective.cost.rate_cap.value);
  }
  return caps;
}

// The strands of all communicators, in their order; none where flows carry the collectives.
std::vector<StrandedRing> rings_of(const Communicators& communicators, const Mapping& mapping,
                                   const Topology& topology, const Platform& platform,
                                   const std::vector<Motion>& motions, Carrier carrier) {
  std::vector<StrandedRing> rings;
  if (carrier == Carrier::flows) return rings;
  std::int64_t next = 0;
  for (std::int32_t c = 0; c < communicators.count(); ++c) {
    const ChannelNumber channel = communicators.channel(c);
    const std::vector<std::int64_t> members = members_of(c, communicators, mapping);
    const Motion motion = motions[static_cast<std::size_t>(channel)];
    rings.push_back({next,
                     goes_by_pairs(motion)
                         ? exchange_strands(topology, platform, motion, members, channel)
                     : communicators.one_way(channel)
                         ? message_strands(topology, platform, {members[0], members[1]}, channel)
                         : ring_strands(topology, platform, members, channel),
                     communicators.members(channel)});
    next += static_cast<std::int64_t>(rings.back().strands.size());
  }
  return rings;
}

std::vector<Strand> all_strands(const std::vector<StrandedRing>& rings) {
  std::vector<Strand> strands;
  for (const StrandedRing& ring : rings) {
    strands.insert(strands.end(), ring.strands.begin(), ring.strands.end());
  }
  return strands;
}

void refuse_beyond_reference(const ProcessGrid& grid, const ReplayOptions& options) {
  if (options.carrier != Carrier::flows && !options.faults.none()) {
    throw std::invalid_argument(
        "Stock SimGrid communications know no link faults: ask for the fidelity flow or full.");
  }
  const std::int64_t most = most_devices(options.carrier);
  if (grid.size() <= most) return;
  const bool steps = options.carrier == Carrier::stock_steps;
  throw std::invalid_argument(
      std::string("Stock SimGrid communications ") +
      (steps ? "step by step (s4u-step)" : "per ring edge (s4u)") + " are for at most " +
      std::to_string(most) + " devices, and the grid " + grid.str() + " has " +
      std::to_string(grid.size()) + ": the default fidelity replays any number.");
}

constexpr std::int64_t most_logged_stages = 32;
constexpr std::int64_t collectives_between_reports = 4096;

class Job {
 public:
  Job(const TimedProgram& program, const ProcessGrid& grid, const Platform& platform,
      const ReplayOptions& options)
      : program_(program),
        grid_(grid),
        options_(options),
        mapping_(mapping_for(grid, platform, options)),
        topology_(platform, mapping_.nodes(platform.node.devices), program.channels.size()),
        communicators_(grid, program.channels, used_channels(program),
                       crews_in_stage(program, grid)),
        faults_(options.faults, topology_, platform),
        load_(load_of(communicators_, {platform, topology_, mapping_, faults_},
                      {largest_caps(program), sent_by_channel(program), program.loads,
                       channel_motions(program)})),
        classes_(device_classes(grid, options.compute_factors)),
        paces_(program, options.compute_factors),
        rings_(rings_of(communicators_, mapping_, topology_, platform, channel_motions(program),
                        options.carrier)),
        machine_(options.carrier == Carrier::flows ? Machine()
                                                   : Machine(topology_, all_strands(rings_))) {}

  const Paces& paces() const { return paces_; }

  // By stage, from streams by pace and stage.
  std::vector<std::vector<SegmentTimes>> simulate(
      const std::vector<std::vector<IssueStream>>& streams, Replay& result) {
    if (options_.detail != DetailWanted::none) {
      observer_.emplace(by_crew(streams.front()), communicators_, grid_.size(), logged_ranks());
    }
    if (options_.carrier == Carrier::flows) {
      FlowNetwork network(load_.incidence, load_.parts,
                          options_.quantum.value > 0
                              ? options_.quantum
                              : std::min(Seconds{1e-4}, estimate_step(program_).total * 1e-5));
      if (options_.work_limit > 0) network.limit_work(options_.work_limit - result.work);
      auto times = walk(streams, network, [&] { machine_.run(network); });
      const FlowNetwork::Counts& counts = network.counts();
      result.collectives += counts.finished;
      result.events += counts.events;
      result.solves += counts.solves;
      result.work += counts.work;
      result.solver_time += counts.solver_time;
      return times;
    }
    StockNetwork network(
        rings_, machine_,
        options_.carrier == Carrier::stock_edges ? RingMotion::edges : RingMotion::steps);
    auto times = walk(streams, network, [&] { machine_.run(); });
    result.collectives += network.finished();
    result.events += network.communications();
    return times;
  }

  // What the crews walked, where they chose it.
  std::vector<IssueStream> chosen() const {
    std::vector<IssueStream> streams;
    for (const QueueStream& queue : queues_) {
      IssueStream& stream = streams.emplace_back();
      stream.segments = queue.stream().segments;
      stream.posts.resize(program_.channels.size());
    }
    return streams;
  }

  // Of the last simulation.
  ReplayDetail detail(const Repetitions& walked, Seconds step) const {
    ReplayDetail detail = summary(*observer_, classes_);
    detail.links = link_use(load_.bytes, topology_, faults_, step);
    detail.logged = {walked.runs, walked.cycles};
    const std::vector<std::int64_t> ranks = logged_ranks();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto rank_class = static_cast<std::size_t>(classes_.of_rank[ranks[i]]);
      detail.timelines.push_back({ranks[i], classes_.names[rank_class], observer_->logs()[i]});
      if (queues_.empty()) continue;
      const std::int32_t crew = communicators_.crew(static_cast<std::int32_t>(ranks[i]));
      detail.timelines.back().log.turns = queues_[static_cast<std::size_t>(crew)].taken();
    }
    return detail;
  }

 private:
  std::vector<std::int64_t> logged_ranks() const {
    if (options_.detail != DetailWanted::timeline) return {};
    std::vector<std::int64_t> ranks = classes_.samples();
    const std::int64_t stages = grid_.extent(Axis::pipe);
    if (stages == 1) return ranks;
    // Besides, the first device of each stage, or of some evenly spread over them.
    const std::int64_t shown = std::min(stages, most_logged_stages);
    for (std::int64_t i = 0; i < shown; ++i) {
      ranks.push_back(i * stages / shown * grid_.stride(Axis::pipe));
    }
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  // Crews of a stage walk the same, unless they choose for themselves.
  std::vector<const IssueStream*> by_crew(const std::vector<IssueStream>& streams) const {
    std::vector<const IssueStream*> result;
    const std::int64_t crews = grid_.size() / communicators_.ranks_per_crew();
    for (std::int64_t i = 0; i < crews; ++i) {
      result.push_back(&streams[i * communicators_.ranks_per_crew() / grid_.stride(Axis::pipe)]);
    }
    return result;
  }

  void make_queues() {
    queues_.clear();
    if (program_.queues.empty()) return;
    const std::int64_t crews = grid_.size() / communicators_.ranks_per_crew();
    queues_.reserve(static_cast<std::size_t>(crews));
    for (std::int64_t i = 0; i < crews; ++i) {
      queues_.emplace_back(paces_.programs(), grid_,
                           i * communicators_.ranks_per_crew() / grid_.stride(Axis::pipe));
    }
  }

  // All ranks from the start to the end of their streams; `run` lets the transport's time pass.
  template <typename Run>
  std::vector<std::vector<SegmentTimes>> walk(const std::vector<std::vector<IssueStream>>& streams,
                                              Transport& transport, Run run) {
    make_queues();
    std::vector<std::vector<const IssueStream*>> by_pace;
    for (std::size_t pace = 0; pace < streams.size(); ++pace) {
      by_pace.push_back(by_crew(streams[pace]));
      for (std::size_t i = 0; i < queues_.size(); ++i) by_pace[pace][i] = &queues_[i].stream(pace);
    }
    const std::vector<const IssueStream*> walked = by_pace.front();
    Ranks ranks(walked, program_, communicators_, transport);
    ranks.set_paces(&paces_, std::move(by_pace));
    ranks.set_jitter(&options_.jitter);
    if (!queues_.empty()) ranks.set_queues(&queues_);
    if (observer_) {
      ranks.set_observer(&*observer_);
      observer_->follow(walked);
    }
    double operations = 0.0;
    for (const IssueStream& stream : streams.front()) {
      operations += static_cast<double>(stream.operations.size() * grid_.stride(Axis::pipe));
    }
    std::int64_t finished = 0;
    transport.on_finish([&](std::int32_t flow, double time) {
      ranks.finish(flow, time);
      if (++finished % collectives_between_reports == 0 && options_.progress) {
        options_.progress(static_cast<double>(ranks.walked()) / operations);
      }
    });
    transport.on_wake([&](std::int32_t rank, double time) { ranks.wake(rank, time); });
    transport.on_expect([&](std::int32_t flow, int lookups) { ranks.expect(flow, lookups); });
    ranks.start(grid_.size());
    run();
    if (!ranks.done() && streams.front().size() > 1) {
      throw std::invalid_argument(
          "The stages of the pipeline wait for each other for ever: a send or a receive of the "
          "order stands in the wrong place.");
    }
    if (!ranks.done()) throw std::logic_error("The replay stopped before all ranks had ended.");
    return ranks.segment_times();
  }

  const TimedProgram& program_;
  const ProcessGrid& grid_;
  const ReplayOptions& options_;
  Mapping mapping_;
  Topology topology_;
  Communicators communicators_;
  FaultyLinks faults_;
  Load load_;
  DeviceClasses classes_;
  Paces paces_;
  std::optional<Observer> observer_;
  std::vector<StrandedRing> rings_;
  Machine machine_;
  std::vector<QueueStream> queues_;  // by crew; none: all orders are fixed
};

}  // namespace

Replay replay_step(const TimedProgram& program, const ProcessGrid& grid, const Platform& platform,
                   const ReplayOptions& options) {
  if (!options.compute_factors.empty() &&
      static_cast<std::int64_t>(options.compute_factors.size()) != grid.size()) {
    throw std::invalid_argument("Compute factors are given for " +
                                std::to_string(options.compute_factors.size()) + " ranks of " +
                                std::to_string(grid.size()) + ": give one for each, or none.");
  }
  refuse_beyond_reference(grid, options);
  const Repetitions full = Repetitions::full(program);
  const bool may_cut = options.extent == ReplayExtent::extrapolated && options.jitter.none();
  Repetitions repetitions = may_cut ? first_repetitions(program, grid) : full;
  unroll(program, grid, repetitions);  // refuses an unsound program before the machine is built
  Job job(program, grid, platform, options);
  Replay result;
  while (true) {
    const std::vector<std::vector<IssueStream>> by_pace = unroll(job.paces(), grid, repetitions);
    const std::vector<IssueStream>& streams = by_pace.front();
    const std::vector<std::vector<SegmentTimes>> times = job.simulate(by_pace, result);
    if (!program.queues.empty()) {
      result.attempts = 1;
      result.outcome = extend(program, job.chosen(), times);
      if (options.detail != DetailWanted::none) {
        result.detail = job.detail(full, result.outcome.total);
      }
      return result;
    }
    const Disagreement found = disagreement(program, streams, times);
    ++result.attempts;
    Repetitions more = more_repetitions(program, repetitions, found, options.tolerance);
    if (more == repetitions) {
      result.outcome = extend(program, streams, times);
      result.extrapolated = !(repetitions == full);
      result.disagreement = found.largest();
      if (options.detail != DetailWanted::none) {
        result.detail = job.detail(repetitions, result.outcome.total);
      }
      return result;
    }
    repetitions = std::move(more);
  }
}

}  // namespace fourfold::inline sim::inline replay
