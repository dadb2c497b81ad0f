// fourfold-replay: reads one point as JSON from standard input, replays it, writes the answer as
// one line of JSON. One point per process, as SimGrid has one engine per process.
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "sim/estimate.hpp"
#include "sim/point.hpp"
#include "sim/provenance.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay_answer.hpp"

namespace {

constexpr const char* usage =
    "usage: fourfold-replay [--full] < point.json\n"
    "Simulates one training step and prints seconds and breakdown as one line of JSON.\n"
    "  --full  walk every layer and micro-batch instead of extending a checked few\n"
    "`fourfold project --fidelity simulated` writes such points and reads the answer.\n";

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

fourfold::ReplayAnswer answer(const std::string& question, fourfold::ReplayExtent extent) {
  const fourfold::Point point = fourfold::point_from_json(question);
  const fourfold::Platform platform = fourfold::read_platform(point.platform, point.scales);
  fourfold::ReplayOptions options;
  options.extent = extent;
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
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && option != "--full")) {
    std::fputs(usage, option == "--help" ? stdout : stderr);
    return option == "--help" ? 0 : 2;
  }
  try {
    const std::string question{std::istreambuf_iterator<char>(std::cin), {}};
    const auto extent =
        option == "--full" ? fourfold::ReplayExtent::full : fourfold::ReplayExtent::extrapolated;
    std::cout << fourfold::to_json(answer(question, extent)) << '\n' << std::flush;
    if (!std::cout) throw std::runtime_error("The answer could not be written to standard output.");
  } catch (const std::exception& error) {
    std::cerr << "fourfold-replay: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
