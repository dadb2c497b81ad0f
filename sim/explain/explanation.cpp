// Sums over the folded step; see explanation.hpp. It is long because every part of a step has its
// sum.
#include "sim/explain/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/lower.hpp"
#include "sim/cost/waiting.hpp"
#include "sim/explain/ideal.hpp"

namespace fourfold::inline sim::inline explain {

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

// As Counts does: what one stage has alone does not vanish.
std::int64_t rounded_up(double count) {
  constexpr double rounding_errors = 1e-6;
  return static_cast<std::int64_t>(std::ceil(count - rounding_errors));
}

// The part of a name that says which value: "block.qkv.weight all_gather z" is the value's name.
std::string value_in(const std::string& name) {
  return name.substr(0, name.find(' '));
}

// Means over all devices.
Seconds mean_late(const ReplayDetail& detail, std::size_t channel) {
  Seconds sum;
  double devices = 0.0;
  for (const ClassUse& use : detail.classes) {
    sum += use.late[channel] * static_cast<double>(use.devices);
    devices += static_cast<double>(use.devices);
  }
  return devices > 0.0 ? sum / devices : Seconds{};
}

std::string key_of(IdealPart part) {
  std::string key = name(part);
  std::ranges::replace(key, '-', '_');
  return key;
}

std::vector<std::string> beyond_closed_form(const WhatIfs& what_ifs) {
  std::vector<std::string> all;
  if (what_ifs.placement.by != Placing::packed) {
    all.emplace_back("placement (but for how many nodes a group lies in)");
  }
  if (what_ifs.jitters()) all.emplace_back("jitter");
  if (!what_ifs.slow_devices.none()) all.emplace_back("slow devices");
  if (!what_ifs.degrade.empty()) all.emplace_back("degraded links");
  if (!what_ifs.fail.empty()) all.emplace_back("failed links");
  if (!what_ifs.background.empty()) all.emplace_back("other jobs' traffic");
  return all;
}

class Explainer {
 public:
  Explainer(const Point& point, const Platform& platform)
      : point_(point),
        platform_(platform),
        estimate_(estimate_step(point, platform)),
        program_(lower(point, platform)),
        closed_form_(estimate_step(program_)) {
    const std::int64_t stages = point.grid.extent(Axis::pipe);
    const StepOptions options = in_effect(point.options, point.grid);
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      steps_.push_back(named_step(point.model, options, {stage, stages}));
      sizes_.emplace_back().evaluate(steps_.back().folded, point.grid, {micro_batch_tokens(point)});
    }
    share_ = 1.0 / static_cast<double>(stages);
    counts_of_channels_.resize(program_.channels.size(), 0.0);
  }

  Explanation explain(const std::optional<Simulated>& simulated) {
    result_.outcome = simulated ? simulated->outcome : estimate_.outcome;
    if (result_.outcome.channels != program_.channels) {
      throw std::runtime_error("The simulated step has other channels than the point.");
    }
    result_.channels.resize(program_.channels.size());
    if (simulated) {
      result_.detail = simulated->detail;
      result_.not_in_closed_form = beyond_closed_form(point_.what_ifs);
    }
    result_.memory = estimate_.memory;
    result_.memory_limit = memory_limit(platform_);
    result_.empirical_peak = platform_.processor.empirical_peak;
    result_.advertised_peak = platform_.processor.advertised_peak;
    for (std::size_t stage = 0; stage < steps_.size(); ++stage) kernels(stage);
    compute();
    for (std::size_t stage = 0; stage < steps_.size(); ++stage) collectives(stage);
    finish_collectives();
    channels();
    ideals(simulated);
    return std::move(result_);
  }

 private:
  // Stages have equally many devices: all sums are means over them.
  void kernels(std::size_t stage) {
    const Folded& folded = steps_[stage].folded;
    const std::vector<std::int64_t> times = times_done(folded);
    for (std::size_t b = 0; b < times.size(); ++b) {
      for (const FoldedStep& step : folded.bodies[b].steps) {
        if (step.kind != IssueKind::compute) continue;
        for (std::int32_t c : folded.bundles[static_cast<std::size_t>(step.index)]) {
          const OpClass& op = folded.classes[static_cast<std::size_t>(c)];
          const double share = static_cast<double>(times[b]) * share_;
          const Seconds of_median =
              kernel_time(op, sizes_[stage], platform_, 1) *
              (slowdown(platform_.node, point_.grid.size()) / slowdown(platform_.node, 1));
          result_.kernels[kernel_group(op.kind, *op.function)] += of_median * share;
          result_.slowest +=
              (kernel_time(op, sizes_[stage], platform_, point_.grid.size()) - of_median) * share;
        }
      }
    }
  }

  void compute() {
    nominal_ = result_.slowest;
    for (Seconds kernels : result_.kernels) nominal_ += kernels;
    const Seconds gemm = result_.kernels[product_group];
    if (gemm.value > 0.0) result_.gemm_rate = estimate_.counts.gemm / gemm;
    const Outcome& outcome = result_.outcome;
    const Seconds beyond = outcome.compute - closed_form_.compute;
    const bool slower = beyond.value > same_compute * closed_form_.compute.value;
    result_.slower_devices = slower ? beyond : Seconds{};
    result_.interference = outcome.compute - nominal_ - result_.slower_devices;
    result_.last_device = outcome.total - outcome.compute - outcome.exposed_total();
  }

  void collectives(std::size_t stage) {
    const NamedStep& step = steps_[stage];
    const std::vector<std::int64_t> times = times_done(step.folded);
    std::vector<CollectiveUse> uses(step.folded.collectives.size());
    std::vector<double> counts(uses.size(), 0.0);
    for (std::size_t b = 0; b < times.size(); ++b) {
      std::size_t start = 0;
      for (const FoldedStep& folded : step.folded.bodies[b].steps) {
        if (folded.kind != IssueKind::start) continue;
        CollectiveUse& use = uses[static_cast<std::size_t>(folded.index)];
        counts[static_cast<std::size_t>(folded.index)] += static_cast<double>(times[b]) * share_;
        add_name(use, value_in(step.bodies[b].collectives.at(start++)));
      }
    }
    for (std::size_t c = 0; c < uses.size(); ++c, ++next_class_) {
      const TimedCollective& timed = program_.collectives.at(next_class_);
      CollectiveUse& use = uses[c];
      const Channel& channel = program_.channels[static_cast<std::size_t>(timed.channel)];
      const std::int64_t members = fourfold::members(channel, point_.grid);
      if (members == 1 || counts[c] == 0.0) continue;
      use.kind = timed.kind;
      use.channel = timed.channel;
      use.buffer = {
          sizes_[stage].bytes[static_cast<std::size_t>(step.folded.collectives[c].buffer)]};
      use.algorithm = timed.algorithm;
      use.protocol = timed.protocol;
      use.each = timed.uncontended;
      use.latency_share = timed.cost.delay / timed.uncontended;
      use.bus_bandwidth = bus_bandwidth(use.kind, use.buffer, members, use.each);
      if (result_.detail && next_class_ < result_.detail->flights.size()) {
        use.flown = result_.detail->flights[next_class_];
      }
      ChannelUse& sums = result_.channels[static_cast<std::size_t>(use.channel)];
      counts_of_channels_[static_cast<std::size_t>(use.channel)] += counts[c];
      sums.latency += timed.cost.delay * counts[c];
      sums.sent += timed.cost.work * (counts[c] * senders(use.kind, members));
      add(use, counts[c]);
    }
  }

  static void add_name(CollectiveUse& use, const std::string& name) {
    if (std::ranges::find(use.names, name) == use.names.end()) use.names.push_back(name);
  }

  // Beside the same of another stage.
  void add(const CollectiveUse& use, double count) {
    const auto same = std::ranges::find_if(result_.collectives, [&](const CollectiveUse& one) {
      return one.channel == use.channel && one.kind == use.kind &&
             one.buffer.value == use.buffer.value && one.each.value == use.each.value;
    });
    if (steps_.size() == 1 || same == result_.collectives.end()) {
      result_.collectives.push_back(use);
      counts_.push_back(count);
      return;
    }
    double& so_far = counts_[static_cast<std::size_t>(same - result_.collectives.begin())];
    if (use.flown && same->flown) {
      same->flown->mean = (same->flown->mean * so_far + use.flown->mean * count) / (so_far + count);
      same->flown->longest = std::max(same->flown->longest, use.flown->longest);
    }
    so_far += count;
    for (const std::string& name : use.names) add_name(*same, name);
  }

  void finish_collectives() {
    for (std::size_t c = 0; c < counts_of_channels_.size(); ++c) {
      result_.channels[c].collectives = rounded_up(counts_of_channels_[c]);
    }
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      CollectiveUse& use = result_.collectives[i];
      use.count = counts_[i];
      if (!use.flown) continue;
      const Channel& channel = program_.channels[static_cast<std::size_t>(use.channel)];
      use.flown_bus_bandwidth = bus_bandwidth(
          use.kind, use.buffer, fourfold::members(channel, point_.grid), use.flown->mean);
    }
    std::ranges::stable_sort(result_.collectives,
                             [](const auto& a, const auto& b) { return a.all() > b.all(); });
  }

  void channels() {
    const ExpectedWaiting expected = expected_waiting(program_);
    for (std::size_t c = 0; c < program_.channels.size(); ++c) {
      ChannelUse& use = result_.channels[c];
      use.members = members(program_.channels[c], point_.grid);
      use.busy = result_.outcome.busy[c];
      use.exposed = result_.outcome.exposed[c];
      // What is expected of repetitions is in the waits, unless they are drawn.
      const Seconds last = point_.what_ifs.draws_spreads ? Seconds{} : expected.of_channels[c];
      use.waiting = result_.detail ? mean_late(*result_.detail, c) + last
                                   : std::max(use.exposed - use.busy, last);
      use.waiting = std::min(use.exposed, std::max(Seconds{}, use.waiting));
      use.hidden = std::max(Seconds{}, use.busy + use.waiting - use.exposed);
    }
  }

  void ideals(const std::optional<Simulated>& simulated) {
    const Outcome& outcome = result_.outcome;
    Seconds busiest = result_.detail ? result_.detail->longest_compute : outcome.compute;
    for (Seconds channel : outcome.busy) busiest = std::max(busiest, channel);
    for (IdealPart part : all_ideal_parts) {
      if (!takes_effect(part, point_, platform_)) continue;
      // Walked anew, as faster products hide less.
      const Seconds ideal = estimate_step(lower(point_, platform_, part)).total;
      const double ratio = ideal / closed_form_.total;
      result_.ideals.push_back({key_of(part), sentence(part), outcome.total * ratio,
                                simulated ? "closed form's ratio" : "closed form"});
    }
    result_.ideals.insert(
        result_.ideals.begin() + 1,
        {"overlap", "perfect overlap: the busiest of compute and the lanes", busiest, "bound"});
    if (!simulated) return;
    for (const Ideal& rerun : simulated->reruns) {
      const auto same = std::ranges::find(result_.ideals, rerun.key, &Ideal::key);
      if (same == result_.ideals.end()) {
        result_.ideals.push_back(rerun);
      } else {
        *same = rerun;
      }
    }
  }

  const Point& point_;
  const Platform& platform_;
  Estimate estimate_;
  TimedProgram program_;
  Outcome closed_form_;
  std::vector<NamedStep> steps_;   // by stage
  std::vector<LocalSizes> sizes_;  // by stage
  double share_ = 1.0;             // of the devices, a stage's
  std::vector<double> counts_;     // of result_.collectives
  std::vector<double> counts_of_channels_;
  std::size_t next_class_ = 0;  // in TimedProgram::collectives, stage after stage
  Seconds nominal_;
  Explanation result_;
};

}  // namespace

BytesPerSecond bus_bandwidth(CollectiveKind kind, Bytes buffer, std::int64_t members,
                             Seconds seconds) {
  if (seconds.value <= 0.0) return {};
  return buffer * part_sent(kind, members) / seconds;
}

Explanation explain_step(const Point& point, const Platform& platform,
                         const std::optional<Simulated>& simulated) {
  return Explainer(point, platform).explain(simulated);
}

std::vector<std::pair<std::string, Seconds>> Explanation::parts() const {
  std::vector<std::pair<std::string, Seconds>> parts;
  for (KernelGroup group = 0; group < kernel_groups; ++group) {
    parts.emplace_back(group_title(group), kernels[group]);
  }
  parts.emplace_back("the slowest device, beyond the median one", slowest);
  parts.emplace_back("interference of collectives with kernels", interference);
  parts.emplace_back("slower devices, on average", slower_devices);
  bool pipeline = false;
  Seconds last_member;
  for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
    if (outcome.channels[c].axis == Axis::pipe) {
      pipeline = true;
      continue;
    }
    parts.emplace_back("exposed communication, " + fourfold::name(outcome.channels[c]),
                       outcome.exposed[c] - channels[c].waiting);
    last_member += channels[c].waiting;
  }
  parts.emplace_back("waiting for the last member of a group", last_member);
  if (pipeline) {
    parts.emplace_back("exposed messages between stages",
                       outcome.exposed_along(Axis::pipe) - outcome.bubble);
    parts.emplace_back("pipeline bubble", outcome.bubble);
  }
  parts.emplace_back("until the last device ends", last_device);
  return parts;
}

std::string Explanation::verdict() const {
  const auto percent = [this](Seconds part) { return 100.0 * (part / outcome.total); };
  const Seconds exposed = outcome.exposed_total();
  const Seconds network = std::ranges::find(ideals, "network", &Ideal::key)->time;
  const double saved = percent(outcome.total - network);
  if (slower_devices.value > 0.0 && waiting() * 2.0 > exposed) {
    std::string text = fmt::format(
        "Slower devices limit this run: the others wait for them during {:.1f} % of the step",
        percent(waiting()));
    if (const auto without = std::ranges::find(ideals, "without_slow_devices", &Ideal::key);
        without != ideals.end()) {
      text +=
          fmt::format("; they cost {:.3f} s, {:.1f} % of it", (outcome.total - without->time).value,
                      percent(outcome.total - without->time));
    }
    return text + '.';
  }
  if (exposed > *std::ranges::max_element(kernels) && outcome.bubble * 2.0 > exposed) {
    return fmt::format(
        "The pipeline limits this run: stages wait for each other during {:.1f} % of the step; "
        "more "
        "micro-batches or fewer stages would shorten that.",
        percent(outcome.bubble));
  }
  const auto most = std::ranges::max_element(outcome.exposed);
  const auto channel = static_cast<std::size_t>(most - outcome.exposed.begin());
  const auto busiest = std::ranges::max_element(kernels);
  const auto group = static_cast<KernelGroup>(busiest - kernels.begin());
  if (exposed > *busiest) {
    const ChannelUse& use = channels[channel];
    const double latency = use.busy.value > 0.0 ? std::min(1.0, use.latency / use.busy) : 0.0;
    return fmt::format(
        "Communication limits this run, most of all along {}: {:.1f} % of the step is exposed "
        "there, "
        "and {:.0f} % of that lane's time is {}; a network that takes no time would save {:.1f} %.",
        fourfold::name(outcome.channels[channel]), percent(*most),
        100.0 * std::max(latency, 1.0 - latency), latency > 0.5 ? "latency" : "bandwidth", saved);
  }
  std::string text = fmt::format("This run is limited by {}: {:.1f} % of the step",
                                 group_title(group), percent(*busiest));
  const bool of_peak = std::ranges::find(ideals, "gemm_empirical", &Ideal::key) != ideals.end();
  if (group == product_group && of_peak) {
    text += fmt::format(", done at {:.1f} % of the empirical peak",
                        100.0 * (gemm_rate / empirical_peak));
  }
  if (exposed.value <= 0.0) return text + "; no communication is exposed.";
  if (outcome.bubble * 2.0 > exposed) {
    return text +
           fmt::format("; {:.1f} % is the pipeline's bubble, {:.1f} % exposed communication.",
                       percent(outcome.bubble), percent(exposed - outcome.bubble));
  }
  return text + fmt::format("; {:.1f} % is exposed communication, most of it along {}.",
                            percent(exposed), fourfold::name(outcome.channels[channel]));
}

Seconds Explanation::waiting() const {
  Seconds sum;
  for (const ChannelUse& channel : channels) sum += channel.waiting;
  return sum;
}

}  // namespace fourfold::inline sim::inline explain
