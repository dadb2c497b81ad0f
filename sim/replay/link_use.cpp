// Sums over links; see link_use.hpp.
#include "sim/replay/link_use.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace fourfold::inline sim::inline replay {

namespace {

std::vector<double> sent_by_channel(const TimedProgram& program, const StageCycles& stage) {
  std::vector<double> sent(program.channels.size(), 0.0);
  for (std::int32_t c = stage.first; c < stage.last; ++c) {
    const RunCycle& cycle = program.cycles[static_cast<std::size_t>(c)];
    for (std::int32_t r = cycle.first; r < cycle.last; ++r) {
      const StepRun& run = program.runs[static_cast<std::size_t>(r)];
      const auto times = static_cast<double>(run.repeats * cycle.repeats);
      for (std::int32_t s = run.first; s < run.last; ++s) {
        const TimedStep& step = program.steps[static_cast<std::size_t>(s)];
        if (step.kind != StepKind::post) continue;
        sent[static_cast<std::size_t>(step.channel)] +=
            times * program.collectives[static_cast<std::size_t>(step.collective)].cost.work.value;
      }
    }
  }
  return sent;
}

}  // namespace

std::vector<std::vector<double>> sent_by_channel(const TimedProgram& program) {
  std::vector<std::vector<double>> sent;
  for (const StageCycles& stage : program.by_stage()) {
    sent.push_back(sent_by_channel(program, stage));
  }
  return sent;
}

std::vector<LinkUse> link_use(const std::vector<double>& bytes, const Topology& topology,
                              const FaultyLinks& faults, Seconds step) {
  // Classes apart, and within one those of different width.
  std::map<std::pair<std::string, double>, LinkUse> uses;
  for (std::int32_t link = 0; link < static_cast<std::int32_t>(bytes.size()); ++link) {
    const double carried = bytes[static_cast<std::size_t>(link)];
    if (carried <= 0.0) continue;
    const BytesPerSecond capacity = topology.capacity(link);
    const std::string link_class = topology.link_class(link);
    LinkUse& use = uses[{link_class, capacity.value}];
    const double utilisation = carried / (faults.capacity(link) * step.value);
    use.link_class = link_class;
    use.capacity = capacity;
    use.bytes.value += carried;
    use.mean_utilisation += utilisation;
    if (use.links++ == 0 || utilisation > use.busiest_utilisation) {
      use.busiest_utilisation = utilisation;
      use.busiest_bytes = {carried};
      use.busiest = topology.link_name(link);
    }
  }
  std::vector<LinkUse> sorted;
  for (auto& [key, use] : uses) {
    use.mean_utilisation /= static_cast<double>(use.links);
    sorted.push_back(std::move(use));
  }
  std::ranges::stable_sort(sorted, [](const LinkUse& a, const LinkUse& b) {
    return a.busiest_utilisation > b.busiest_utilisation;
  });
  return sorted;
}

}  // namespace fourfold::inline sim::inline replay
