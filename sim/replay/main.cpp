// fourfold-replay: reads one point as JSON from standard input, replays it, writes the answer as
// one line of JSON. One point per process, as SimGrid has one engine per process.
#include <sys/resource.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "sim/conditions/conditions.hpp"
#include "sim/cost/waiting.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/explain/ideal.hpp"
#include "sim/question/point.hpp"
#include "sim/question/provenance.hpp"
#include "sim/question/replay_answer.hpp"
#include "sim/replay/flow_network.hpp"
#include "sim/replay/listing.hpp"
#include "sim/replay/replay.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/flag_checks.hpp"
#include "support/help_format.hpp"
#include "support/nearest_name.hpp"
#include "support/refused_words.hpp"
#include "support/standard_streams.hpp"

namespace {

constexpr const char* program = "fourfold-replay";

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

struct Order {
  fourfold::ReplayExtent extent = fourfold::ReplayExtent::extrapolated;
  fourfold::Carrier carrier = fourfold::Carrier::flows;
  fourfold::DetailWanted detail = fourfold::DetailWanted::none;
  fourfold::IdealPart ideal = fourfold::IdealPart::none;
  bool progress = false;
  bool listing = false;
  std::int64_t work_limit = 0;  // 0: none
};

void set_fidelity(const std::string& word, Order& order) {
  using fourfold::Carrier;
  order.extent =
      word == "full" ? fourfold::ReplayExtent::full : fourfold::ReplayExtent::extrapolated;
  order.carrier = word == "s4u"        ? Carrier::stock_edges
                  : word == "s4u-step" ? Carrier::stock_steps
                                       : Carrier::flows;
}

// Adds an option that takes one of the words.
CLI::Option* add_word(CLI::App& app, const std::string& flag, const std::vector<std::string>& words,
                      const std::function<void(const std::string&)>& take,
                      const std::string& help) {
  return app.add_option_function<std::string>(flag, take, help)
      ->check([words](const std::string& word) {
        if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
        return "'" + word + "' is not known" + fourfold::did_you_mean(word, words);
      });
}

void add_flags(CLI::App& app, Order& order) {
  using fourfold::DetailWanted;
  CLI::Option* fidelity = add_word(
      app, "--fidelity", {"flow", "full", "s4u", "s4u-step"},
      [&order](const std::string& word) { set_fidelity(word, order); },
      "flow: one flow a collective, layers extended from a checked few (default); full: the same, "
      "every layer and micro-batch walked; s4u: stock SimGrid communications per ring edge, to "
      "4096 devices; s4u-step: the same step by step, to 1024 devices");
  app.add_flag_callback(
         "--full", [&order] { set_fidelity("full", order); }, "--fidelity full")
      ->excludes(fidelity);
  CLI::Option* explain = app.add_flag_callback(
      "--explain", [&order] { order.detail = DetailWanted::explanation; },
      "add the load of links, what collectives took and who waits for whom");
  app.add_flag_callback(
         "--timeline", [&order] { order.detail = DetailWanted::timeline; },
         "the same, and logs of a few devices")
      ->excludes(explain);
  std::vector<std::string> parts;
  for (fourfold::IdealPart part : fourfold::all_ideal_parts) parts.emplace_back(name(part));
  add_word(
      app, "--ideal", parts,
      [&order, parts](const std::string& word) {
        const auto found = std::find(parts.begin(), parts.end(), word);
        order.ideal = fourfold::all_ideal_parts.at(static_cast<std::size_t>(found - parts.begin()));
      },
      "with an ideal part: network, gemm-empirical, gemm-advertised, equal-devices or "
      "steady-kernels");
  app.add_option("--work-limit", order.work_limit,
                 "UNITS: end with status 3 beyond so much work; the answer says what it took")
      ->check(fourfold::whole_number(1, std::numeric_limits<std::int64_t>::max()));
  app.add_flag("--progress", order.progress,
               "lines `progress PART-DONE` on standard error, twice a second");
  CLI::Option* listing = app.add_flag("--listing", order.listing,
                                      "no simulation: the step as text for fourfold-witness");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_name() == "--help") continue;
    option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    if (option != listing) listing->excludes(option);
  }
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
  const fourfold::Platform platform =
      fourfold::read_platform(point.platform, point.scales, point.software);
  fourfold::refuse_idle_jitter(point.what_ifs, platform);
  fourfold::ReplayOptions options;
  options.extent = order.extent;
  options.carrier = order.carrier;
  options.detail = order.detail;
  options.work_limit = order.work_limit;
  if (order.progress) options.progress = ProgressLines();
  options.mapping = fourfold::mapping_of(point, platform);
  options.compute_factors = fourfold::compute_factors(point, options.mapping);
  options.jitter = fourfold::jitter_of(point.what_ifs);
  options.faults = {point.what_ifs.degrade, point.what_ifs.fail, point.what_ifs.background};
  fourfold::TimedProgram step = fourfold::lower(point, platform, order.ideal);
  if (point.what_ifs.draws_spreads) step = fourfold::without_expectations(std::move(step));
  const fourfold::Replay replay = fourfold::replay_step(step, point.grid, platform, options);
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
  const fourfold::Platform platform =
      fourfold::read_platform(point.platform, point.scales, point.software);
  fourfold::refuse_idle_jitter(point.what_ifs, platform);
  fourfold::WhatIfs without_slow = point.what_ifs;
  without_slow.slow_devices = {};
  if (!without_slow.uniform()) {
    throw std::runtime_error(
        "A listing is of a packed job on links as they should be: leave out placement, jitter and "
        "faulty links.");
  }
  if (!point.options.rank_order.as_numbered()) {
    throw std::runtime_error(
        "A listing is of ranks that lie as they are numbered: leave out rank_order.");
  }
  const fourfold::Mapping mapping = fourfold::mapping_of(point, platform);
  return fourfold::listing(fourfold::lower(point, platform), point.grid, platform,
                           fourfold::compute_factors(point, mapping));
}

}  // namespace

int main(int argc, char** argv) {
  if (!fourfold::hold_standard_streams()) {
    return fourfold::complain(fourfold::no_standard_output, fourfold::status_could_not, program);
  }
  Order order;
  CLI::App app(
      "Simulates one training step and prints seconds and breakdown as one line of JSON. `fourfold "
      "project --fidelity simulated` writes such points and reads the answer.");
  app.name("fourfold-replay");
  fourfold::format_help(app);
  add_flags(app, order);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return fourfold::complain(
        fourfold::sentence_of(app, error) + "; usage: fourfold-replay [OPTIONS] < point.json",
        fourfold::status_could_not, program);
  }
  try {
    const std::string question{std::istreambuf_iterator<char>(std::cin), {}};
    std::cout << (order.listing ? listing_of(question)
                                : fourfold::to_json(answer(question, order)) + '\n')
              << std::flush;
    if (!std::cout) throw std::runtime_error("The answer could not be written to standard output.");
  } catch (const fourfold::FlowNetwork::TooMuchWork& error) {
    return fourfold::complain(error, fourfold::over_work_limit, program);
  } catch (const std::bad_alloc&) {
    return fourfold::complain(
        "the memory that this machine or its limits allow is used up; ask for fewer devices or "
        "layers, or for --fidelity estimated",
        fourfold::status_could_not, program);
  } catch (const std::exception& error) {
    return fourfold::complain(error, fourfold::status_could_not, program);
  }
  return 0;
}
