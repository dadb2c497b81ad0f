// fourfold-engine measure: flags, plan and work; see measure_verb.hpp.
#include "engine/train/measure/measure_verb.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/cpu/openblas_core.hpp"
#include "engine/cpu/sgemm.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flag_group.hpp"
#include "engine/train/measure/collective_times.hpp"
#include "engine/train/measure/kernel_times.hpp"
#include "support/exit_status.hpp"
#include "support/help_format.hpp"
#include "support/refused_words.hpp"

namespace fourfold::inline engine::inline train::inline measure {
namespace {

struct MeasureFlags {
  std::string into, transport = name(TransportKind::ring);
  std::int64_t ranks = 1;
  bool kernels = false;
  bool plan = false;
};

void add_measure_flags(CLI::App& verb, MeasureFlags& flags) {
  FlagGroup group(verb, "What is measured");
  group.add("--into", flags.into, "the file that measurements are kept in, one a line")->required();
  group.add("--ranks", flags.ranks, "MPI processes, all of which do the same")->check(number(1));
  group.add("--transport", flags.transport, "who moves the bytes: ring, library, window or auto");
  verb.add_flag("--kernels", flags.kernels,
                "time every kernel, besides collectives and two kernels that tell ranks on a core");
  verb.add_flag("--plan", flags.plan, "")->group("");
}

int plan(const MeasureFlags& flags, const Started& started) {
  std::vector<std::string> arguments{"measure"};
  for (const std::string& word : started.arguments()) {
    if (word != "--plan") arguments.push_back(word);
  }
  fmt::print("{}\n", nlohmann::json{{"ranks", flags.ranks}, {"arguments", arguments}}.dump());
  return 0;
}

int measure_here(const MeasureFlags& flags) {
  const World world;
  const TransportKind transport = parse_transport(flags.transport);
  Measurements measurements(
      world, flags.into,
      fmt::format("measuring on {} rank{}", world.size(), world.size() == 1 ? "" : "s"));
  measurements.expect(crowding_measurements() + collective_measurements(world.size()) +
                      (flags.kernels ? kernel_measurements() : 0) +
                      (world.size() > 1 ? overlap_measurements() : 0));
  measure_crowding(measurements);
  measure_collectives(measurements, transport);
  measure_overlap(measurements, transport);
  if (flags.kernels) measure_kernels(measurements);
  return 0;
}

}  // namespace

int run_measure_verb(const Started& started) {
  CLI::App app("Times single operations of this machine; `fourfold calibrate` starts it.");
  app.name("fourfold-engine measure");
  format_help(app);
  MeasureFlags flags;
  add_measure_flags(app, flags);
  try {
    parse_words(app, started.arguments());
    parse_transport(flags.transport);
  } catch (const CLI::Success&) {  // --help
    return print_help(app);
  } catch (const CLI::ParseError& error) {
    return complain(sentence_of(app, error), status_could_not);
  } catch (const std::invalid_argument& error) {
    return complain(error, status_could_not);
  }
  if (flags.plan) return plan(flags, started);
  use_one_thread();
  repair_openblas_core(CoreWish::repair);
  return work_over_mpi(started, [&](const Session&) { return measure_here(flags); });
}

}  // namespace fourfold::inline engine::inline train::inline measure
