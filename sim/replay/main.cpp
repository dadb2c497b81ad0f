// fourfold-replay: reads one point as JSON from standard input, replays it, writes the answer as
// one line of JSON. One point per process, as SimGrid has one engine per process.
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/conditions.hpp"
#include "sim/estimate.hpp"
#include "sim/point.hpp"
#include "sim/provenance.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay_answer.hpp"

namespace {

constexpr const char* usage =
    "usage: fourfold-replay [--full | --fidelity FIDELITY] < point.json\n"
    "Simulates one training step and prints seconds and breakdown as one line of JSON.\n"
    "  --fidelity flow      one flow a collective; layers extended from a checked few (default)\n"
    "  --fidelity full      the same, every layer and micro-batch walked; also --full\n"
    "  --fidelity s4u       stock SimGrid communications per ring edge, to 4096 devices\n"
    "  --fidelity s4u-step  stock SimGrid communications step by step, to 1024 devices\n"
    "`fourfold project --fidelity simulated` writes such points and reads the answer.\n";

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

struct Fidelity {
  fourfold::ReplayExtent extent = fourfold::ReplayExtent::extrapolated;
  fourfold::Carrier carrier = fourfold::Carrier::flows;
};

// None if the command line is not understood.
std::optional<Fidelity> fidelity_of(const std::vector<std::string_view>& arguments) {
  using fourfold::Carrier;
  using fourfold::ReplayExtent;
  if (arguments.empty()) return Fidelity{};
  if (arguments.size() == 1 && arguments[0] == "--full") return Fidelity{ReplayExtent::full, {}};
  if (arguments.size() != 2 || arguments[0] != "--fidelity") return std::nullopt;
  if (arguments[1] == "flow") return Fidelity{};
  if (arguments[1] == "full") return Fidelity{ReplayExtent::full, {}};
  if (arguments[1] == "s4u") return Fidelity{ReplayExtent::extrapolated, Carrier::stock_edges};
  if (arguments[1] == "s4u-step") return Fidelity{ReplayExtent::extrapolated, Carrier::stock_steps};
  return std::nullopt;
}

fourfold::ReplayAnswer answer(const std::string& question, const Fidelity& fidelity) {
  const fourfold::Point point = fourfold::point_from_json(question);
  const fourfold::Platform platform = fourfold::read_platform(point.platform, point.scales);
  fourfold::refuse_idle_tuning(point, platform);
  fourfold::ReplayOptions options;
  options.extent = fidelity.extent;
  options.carrier = fidelity.carrier;
  options.mapping = fourfold::mapping_of(point, platform);
  options.compute_factors = fourfold::compute_factors(point, options.mapping);
  options.jitter = fourfold::jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail};
  const fourfold::Replay replay =
      fourfold::replay(fourfold::lower(point, platform), point.grid, platform, options);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {.outcome = replay.outcome,
          .extrapolated = replay.extrapolated,
          .extrapolation_check = replay.disagreement,
          .collectives = replay.collectives,
          .cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime),
          .peak_rss_MiB = static_cast<double>(used.ru_maxrss) / 1024.0,
          .simgrid = fourfold::build().simgrid_version};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const bool help = arguments == std::vector<std::string_view>{"--help"};
  const std::optional<Fidelity> fidelity = fidelity_of(arguments);
  if (!fidelity) {
    std::fputs(usage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    const std::string question{std::istreambuf_iterator<char>(std::cin), {}};
    std::cout << fourfold::to_json(answer(question, *fidelity)) << '\n' << std::flush;
    if (!std::cout) throw std::runtime_error("The answer could not be written to standard output.");
  } catch (const std::exception& error) {
    std::cerr << "fourfold-replay: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
