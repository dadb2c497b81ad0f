// What an explanation comes down to: the parts of the critical path and the verdict.
#include <fmt/format.h>

#include <algorithm>

#include "sim/explanation.hpp"

namespace fourfold {

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
  const auto most = std::ranges::max_element(outcome.exposed);
  const auto lane = static_cast<std::size_t>(most - outcome.exposed.begin());
  const auto busiest = std::ranges::max_element(kernels);
  const auto work = static_cast<std::size_t>(busiest - kernels.begin());
  if (exposed > *busiest) {
    const LaneUse& use = lanes[lane];
    const double latency = use.busy.value > 0.0 ? std::min(1.0, use.latency / use.busy) : 0.0;
    return fmt::format(
        "Communication limits this run, most of all along {}: {:.1f} % of the step is exposed "
        "there, "
        "and {:.0f} % of that lane's time is {}; a network that takes no time would save {:.1f} %.",
        fourfold::name(all_lanes[lane]), percent(*most), 100.0 * std::max(latency, 1.0 - latency),
        latency > 0.5 ? "latency" : "bandwidth", saved);
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

}  // namespace fourfold
