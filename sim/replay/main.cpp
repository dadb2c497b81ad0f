// fourfold-replay: reads one point as JSON from standard input, replays it, writes the answer as
// one line of JSON. One point per process, as SimGrid has one engine per process.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/ideal.hpp"
#include "sim/question/point.hpp"
#include "sim/question/provenance.hpp"
#include "sim/question/replay_answer.hpp"
#include "sim/replay/flow_network.hpp"
#include "sim/replay/listing.hpp"
#include "sim/replay/replay.hpp"

namespace {

constexpr const char* usage =
    "usage: fourfold-replay [--full | --fidelity FIDELITY] [OPTIONS] < point.json\n"
    "       fourfold-replay --listing < point.json\n"
    "Simulates one training step and prints seconds and breakdown as one line of JSON.\n"
    "  --fidelity flow      one flow a collective; layers extended from a checked few (default)\n"
    "  --fidelity full      the same, every layer and micro-batch walked; also --full\n"
    "  --fidelity s4u       stock SimGrid communications per ring edge, to 4096 devices\n"
    "  --fidelity s4u-step  stock SimGrid communications step by step, to 1024 devices\n"
    "  --explain            add the load of links, what collectives took and who waits for whom\n"
    "  --timeline           the same, and logs of a few devices\n"
    "  --ideal PART         with an ideal part: network, gemm-empirical or gemm-advertised\n"
    "  --work-limit UNITS   end with status 3 beyond so much work; the answer says what it took\n"
    "  --progress           lines `progress PART-DONE` on standard error, twice a second\n"
    "  --listing            no simulation: the step as text for fourfold-witness\n"
    "`fourfold project --fidelity simulated` writes such points and reads the answer.\n";

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

struct Order {
  fourfold::ReplayExtent extent = fourfold::ReplayExtent::extrapolated;
  fourfold::Carrier carrier = fourfold::Carrier::flows;
  fourfold::DetailWanted detail = fourfold::DetailWanted::none;
  fourfold::IdealPart ideal = fourfold::IdealPart::none;
  bool progress = false;
  std::int64_t work_limit = 0;  // 0: none
};

bool set_fidelity(std::string_view word, Order& order) {
  using fourfold::Carrier;
  using fourfold::ReplayExtent;
  order.extent = word == "full" ? ReplayExtent::full : ReplayExtent::extrapolated;
  order.carrier = Carrier::flows;
  if (word == "s4u") order.carrier = Carrier::stock_edges;
  if (word == "s4u-step") order.carrier = Carrier::stock_steps;
  return word == "flow" || word == "full" || order.carrier != Carrier::flows;
}

bool set_ideal(std::string_view word, Order& order) {
  for (fourfold::IdealPart part : fourfold::all_ideal_parts) {
    if (word != fourfold::name(part)) continue;
    order.ideal = part;
    return true;
  }
  return false;
}

bool set_work_limit(std::string_view word, Order& order) {
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), order.work_limit);
  return error == std::errc() && end == word.data() + word.size() && order.work_limit > 0;
}

// None if the command line is not understood.
std::optional<Order> order_of(const std::vector<std::string_view>& arguments) {
  Order order;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const auto so_far = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(arguments.begin(), so_far, word) != so_far) return std::nullopt;  // said twice
    const std::string_view value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (word == "--full") {
      order.extent = fourfold::ReplayExtent::full;
    } else if (word == "--explain") {
      order.detail = fourfold::DetailWanted::explanation;
    } else if (word == "--timeline") {
      order.detail = fourfold::DetailWanted::timeline;
    } else if (word == "--progress") {
      order.progress = true;
    } else if (word == "--fidelity" && set_fidelity(value, order)) {
      ++i;
    } else if (word == "--work-limit" && set_work_limit(value, order)) {
      ++i;
    } else if (word == "--ideal" && set_ideal(value, order)) {
      ++i;
    } else {
      return std::nullopt;
    }
  }
  return order;
}

// Says how much is done, twice a second at most.
class ProgressLines {
 public:
  void operator()(double done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_ < std::chrono::milliseconds(500)) return;
    said_ = now;
    std::fprintf(stderr, "progress %.4f\n", done);
  }

 private:
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

fourfold::ReplayAnswer answer(const std::string& question, const Order& order) {
  const fourfold::Point point = fourfold::point_from_json(question);
  const fourfold::Platform platform = fourfold::read_platform(point.platform, point.scales);
  fourfold::refuse_idle_tuning(point, platform);
  fourfold::ReplayOptions options;
  options.extent = order.extent;
  options.carrier = order.carrier;
  options.detail = order.detail;
  options.work_limit = order.work_limit;
  if (order.progress) options.progress = ProgressLines();
  options.mapping = fourfold::mapping_of(point, platform);
  options.compute_factors = fourfold::compute_factors(point, options.mapping);
  options.jitter = fourfold::jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail};
  const fourfold::Replay replay = fourfold::replay(fourfold::lower(point, platform, order.ideal),
                                                   point.grid, platform, options);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {.outcome = replay.outcome,
          .extrapolated = replay.extrapolated,
          .extrapolation_check = replay.disagreement,
          .collectives = replay.collectives,
          .work = replay.work,
          .cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime),
          .peak_rss_MiB = static_cast<double>(used.ru_maxrss) / 1024.0,
          .simgrid = fourfold::build().simgrid_version,
          .detail = replay.detail};
}

std::string listing_of(const std::string& question) {
  const fourfold::Point point = fourfold::point_from_json(question);
  const fourfold::Platform platform = fourfold::read_platform(point.platform, point.scales);
  fourfold::refuse_idle_tuning(point, platform);
  fourfold::WhatIfs without_slow = point.what_ifs;
  without_slow.slow_devices = {};
  if (!without_slow.uniform()) {
    throw std::runtime_error(
        "A listing is of a packed job on links as they should be: leave out placement, jitter and "
        "faulty links.");
  }
  const fourfold::Mapping mapping = fourfold::mapping_of(point, platform);
  return fourfold::listing(fourfold::lower(point, platform), point.grid, platform,
                           fourfold::compute_factors(point, mapping));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const bool help = arguments == std::vector<std::string_view>{"--help"};
  const bool listing = arguments == std::vector<std::string_view>{"--listing"};
  const std::optional<Order> order = listing ? Order{} : order_of(arguments);
  if (!order) {
    std::fputs(usage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    const std::string question{std::istreambuf_iterator<char>(std::cin), {}};
    std::cout << (listing ? listing_of(question)
                          : fourfold::to_json(answer(question, *order)) + '\n')
              << std::flush;
    if (!std::cout) throw std::runtime_error("The answer could not be written to standard output.");
  } catch (const fourfold::FlowNetwork::TooMuchWork& error) {
    std::cerr << "fourfold-replay: " << error.what() << '\n';
    return fourfold::over_work_limit;
  } catch (const std::bad_alloc&) {
    std::cerr << "fourfold-replay: the memory that this machine or its limits allow is used up; "
                 "ask for fewer devices or layers, or for --fidelity estimated\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "fourfold-replay: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
