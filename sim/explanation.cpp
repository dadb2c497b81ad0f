// Sums over the folded step; see explanation.hpp.
#include "sim/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel_time.hpp"
#include "sim/lower.hpp"

namespace fourfold {

namespace {

// Loops of the simulated rung are extended from repetitions that are alike to rounding.
constexpr double same_compute = 1e-5;

std::vector<std::int64_t> times_done(const Folded& folded) {
  std::vector<std::int64_t> times(folded.bodies.size(), 0);
  for (const BodyCycle& cycle : folded.cycles) {
    for (const BodyRun& run : cycle.runs) {
      times[static_cast<std::size_t>(run.body)] += run.repeats * cycle.repeats;
    }
  }
  return times;
}

double hop_factor(CollectiveKind kind) { return kind == CollectiveKind::all_reduce ? 2.0 : 1.0; }

// The part of a name that says which value: "block.qkv.weight all_gather z" is the value's name.
std::string value_in(const std::string& name) { return name.substr(0, name.find(' ')); }

Platform with_gemm_at(Platform platform, FlopsPerSecond rate) {
  platform.processor.gemm = {{1, rate}};
  platform.processor.layout_penalty_nt = 1.0;
  platform.processor.layout_penalty_tn = 1.0;
  return platform;
}

class Explainer {
 public:
  Explainer(const Point& point, const Platform& platform)
      : point_(point),
        platform_(platform),
        estimate_(estimate(point, platform)),
        program_(lower(point, platform)),
        step_(named_step(point.model, point.options)) {
    sizes_.evaluate(step_.folded, point.grid, micro_batch_tokens(point));
  }

  Explanation explain(const std::optional<Outcome>& simulated) {
    result_.outcome = simulated ? *simulated : estimate_.outcome;
    result_.memory = estimate_.memory;
    const Processor& processor = platform_.processor;
    result_.memory_limit = processor.memory * processor.usable_memory;
    result_.empirical_peak = processor.empirical_peak;
    result_.advertised_peak = processor.advertised_peak;
    compute();
    collectives();
    lanes();
    ideals();
    return std::move(result_);
  }

 private:
  void compute() {
    const std::vector<std::int64_t> times = times_done(step_.folded);
    for (std::size_t b = 0; b < times.size(); ++b) {
      for (const FoldedStep& step : step_.folded.bodies[b].steps) {
        if (step.kind != IssueKind::compute) continue;
        for (std::int32_t c : step_.folded.bundles[static_cast<std::size_t>(step.index)]) {
          const OpClass& op = step_.folded.classes[static_cast<std::size_t>(c)];
          result_.kernels[static_cast<std::size_t>(work_of(op))] +=
              kernel_time(op, sizes_, platform_.processor) * static_cast<double>(times[b]);
        }
      }
    }
    for (Seconds kernels : result_.kernels) nominal_ += kernels;
    const Seconds gemm = result_.kernels[static_cast<std::size_t>(Work::gemm)];
    if (gemm.value > 0.0) result_.gemm_rate = estimate_.counts.gemm / gemm;
    const Outcome& outcome = result_.outcome;
    const Seconds beyond = outcome.compute - estimate_.outcome.compute;
    const bool slower = beyond.value > same_compute * estimate_.outcome.compute.value;
    result_.slower_devices = slower ? beyond : Seconds{};
    result_.interference = outcome.compute - nominal_ - result_.slower_devices;
    result_.last_device = outcome.total - outcome.compute - outcome.exposed_total();
  }

  void collectives() {
    const Folded& folded = step_.folded;
    const std::vector<std::int64_t> times = times_done(folded);
    std::vector<CollectiveUse> uses(folded.collectives.size());
    for (std::size_t b = 0; b < times.size(); ++b) {
      std::size_t start = 0;
      for (const FoldedStep& step : folded.bodies[b].steps) {
        if (step.kind != IssueKind::start) continue;
        CollectiveUse& use = uses[static_cast<std::size_t>(step.index)];
        use.count += times[b];
        const std::string value = value_in(step_.bodies[b].collectives.at(start++));
        if (std::ranges::find(use.names, value) == use.names.end()) use.names.push_back(value);
      }
    }
    for (std::size_t c = 0; c < uses.size(); ++c) {
      const CollectiveClass& folded_class = folded.collectives[c];
      const TimedCollective& timed = program_.collectives[c];
      CollectiveUse& use = uses[c];
      const std::int64_t members = point_.grid.extent(axis_of(folded_class.lane));
      if (members == 1 || use.count == 0) continue;
      use.kind = folded_class.kind;
      use.lane = folded_class.lane;
      use.buffer = {sizes_.bytes[static_cast<std::size_t>(folded_class.buffer)]};
      use.algorithm = timed.algorithm;
      use.protocol = timed.protocol;
      use.each = timed.uncontended;
      use.latency_share = timed.cost.delay / timed.uncontended;
      use.bus_bandwidth = bus_bandwidth(use.kind, use.buffer, members, use.each);
      LaneUse& lane = result_.lanes[static_cast<std::size_t>(use.lane)];
      lane.collectives += use.count;
      lane.latency += timed.cost.delay * static_cast<double>(use.count);
      lane.sent += timed.cost.work * static_cast<double>(use.count);
      result_.collectives.push_back(use);
    }
    std::ranges::stable_sort(result_.collectives, [](const auto& a, const auto& b) {
      return a.all() > b.all();
    });
  }

  void lanes() {
    for (Lane lane : all_lanes) {
      const auto l = static_cast<std::size_t>(lane);
      LaneUse& use = result_.lanes[l];
      use.members = point_.grid.extent(axis_of(lane));
      use.busy = result_.outcome.busy[l];
      use.exposed = result_.outcome.exposed[l];
      use.hidden = std::max(Seconds{}, use.busy - use.exposed);
      use.waiting = std::max(Seconds{}, use.exposed - use.busy);
    }
  }

  void ideals() {
    const Outcome& outcome = result_.outcome;
    Seconds busiest = outcome.compute;
    for (Seconds lane : outcome.busy) busiest = std::max(busiest, lane);
    result_.ideals = {
        {"network", "a network that takes no time (nor computing units)",
         nominal_ + result_.slower_devices},
        {"overlap", "perfect overlap: the busiest of compute and the lanes", busiest},
        {"gemm_empirical", "matrix products at the empirical peak",
         gemm_at(platform_.processor.empirical_peak)},
        {"gemm_advertised", "matrix products at the advertised peak",
         gemm_at(platform_.processor.advertised_peak)}};
  }

  // Walked anew, as faster products hide less; by its ratio where the outcome is simulated.
  Seconds gemm_at(FlopsPerSecond rate) const {
    const Seconds ideal = estimate(lower(point_, with_gemm_at(platform_, rate))).total;
    return result_.outcome.total * (ideal / estimate_.outcome.total);
  }

  const Point& point_;
  const Platform& platform_;
  Estimate estimate_;
  TimedProgram program_;
  NamedStep step_;
  LocalSizes sizes_;
  Seconds nominal_;
  Explanation result_;
};

}  // namespace

const char* name(Work work) {
  constexpr const char* names[]{"matrix products", "attention", "memory-bound kernels",
                                "optimizer"};
  return names[static_cast<int>(work)];
}

Work work_of(const OpClass& op) {
  switch (op.kind) {
    case OpKind::gemm:
      return Work::gemm;
    case OpKind::attention:
      return Work::attention;
    case OpKind::update:
      return Work::optimizer;
    default:
      return Work::memory_bound;
  }
}

BytesPerSecond bus_bandwidth(CollectiveKind kind, Bytes buffer, std::int64_t members,
                             Seconds seconds) {
  if (seconds.value <= 0.0) return {};
  const auto n = static_cast<double>(members);
  return buffer * (hop_factor(kind) * (n - 1) / n) / seconds;
}

std::vector<std::pair<std::string, Seconds>> Explanation::parts() const {
  std::vector<std::pair<std::string, Seconds>> parts;
  for (Work work : all_works) parts.emplace_back(name(work), kernels[static_cast<int>(work)]);
  parts.emplace_back("interference of collectives with kernels", interference);
  parts.emplace_back("slower devices, on average", slower_devices);
  for (Lane lane : all_lanes) {
    parts.emplace_back(std::string("exposed communication, ") + fourfold::name(lane),
                       outcome.exposed[static_cast<int>(lane)]);
  }
  parts.emplace_back("until the last device ends", last_device);
  return parts;
}

std::string Explanation::verdict() const {
  const auto percent = [this](Seconds part) { return 100.0 * (part / outcome.total); };
  const Seconds exposed = outcome.exposed_total();
  const Seconds network = ideals.at(0).time;
  const double saved = percent(outcome.total - network);
  if (slower_devices.value > 0.0 && waiting() * 2.0 > exposed) {
    return fmt::format(
        "Slower devices limit this run: the others wait for them during {:.1f} % of the step.",
        percent(waiting()));
  }
  const auto most = std::ranges::max_element(outcome.exposed);
  const auto lane = static_cast<std::size_t>(most - outcome.exposed.begin());
  const auto busiest = std::ranges::max_element(kernels);
  const auto work = static_cast<std::size_t>(busiest - kernels.begin());
  if (exposed > *busiest) {
    const LaneUse& use = lanes[lane];
    const double latency = use.busy.value > 0.0 ? std::min(1.0, use.latency / use.busy) : 0.0;
    return fmt::format(
        "Communication limits this run, most of all along {}: {:.1f} % of the step is exposed there, "
        "and {:.0f} % of that lane's time is {}; a network that takes no time would save {:.1f} %.",
        fourfold::name(all_lanes[lane]), percent(*most),
        100.0 * std::max(latency, 1.0 - latency), latency > 0.5 ? "latency" : "bandwidth", saved);
  }
  std::string text = fmt::format("This run is limited by {}: {:.1f} % of the step",
                                 fourfold::name(all_works[work]), percent(*busiest));
  if (all_works[work] == Work::gemm) {
    text += fmt::format(", done at {:.1f} % of the empirical peak",
                        100.0 * (gemm_rate / empirical_peak));
  }
  if (exposed.value <= 0.0) return text + "; no communication is exposed.";
  return text + fmt::format("; {:.1f} % is exposed communication, most of it along {}.",
                            percent(exposed), fourfold::name(all_lanes[lane]));
}

Seconds Explanation::waiting() const {
  Seconds sum;
  for (const LaneUse& lane : lanes) sum += lane.waiting;
  return sum;
}

Explanation explain(const Point& point, const Platform& platform,
                    const std::optional<Outcome>& simulated) {
  return Explainer(point, platform).explain(simulated);
}

}  // namespace fourfold
