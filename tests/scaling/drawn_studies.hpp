// Studies whose rows are drawn over everything that a record may hold or lack: machines, models,
// grids, labels, values, seeds, systems, pipelines, bars, what was published and what was measured.
// No two of their numbers are alike, and none is of a real machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scaling/study/study.hpp"
#include "scaling/study/sweep.hpp"
#include "scaling/words/machine_name.hpp"
#include "tests/drawn_steps.hpp"

namespace fourfold::tests {

// What the rows of a drawn study are.
enum class Drawn : std::uint8_t {
  plain,     // one machine and model on more and more devices
  swept,     // labels, values and seeds, of two models on two machines
  systems,   // several systems a point
  ranked,    // every grid simulated
  measured,  // trained, with twins
};

// From 1 to 2, with a few digits.
inline double drawn_number(const Draw& draw, const std::string& what) {
  return 1.0 + static_cast<double>(draw.below(what, 997)) / 1000.0;
}

inline std::vector<Channel> drawn_channels(bool pipelined) {
  std::vector<Channel> channels{
      {Axis::x, ""}, {Axis::y, ""}, {Axis::z, "gather"}, {Axis::z, "reduce"}, {Axis::data, ""}};
  if (pipelined) {
    channels.push_back({Axis::pipe, "", Group::after_even});
    channels.push_back({Axis::pipe, "", Group::before_even});
  }
  return channels;
}

inline GridSeconds drawn_grid(const Draw& draw, const ProcessGrid& grid, int place) {
  const std::string of = " of grid " + std::to_string(place);
  GridSeconds seconds{grid, 1 + place % 3, {20.0 * drawn_number(draw, "estimated" + of)}, {}, {}};
  if (place < 5) seconds.simulated = Seconds{21.0 * drawn_number(draw, "simulated" + of)};
  seconds.paper = {3.0 * drawn_number(draw, "paper" + of)};
  return seconds;
}

inline void draw_search(const Draw& draw, Record& record) {
  const std::int64_t devices = record.devices();
  record.tried = draw.of<std::int64_t>("tried", {1, 40, 41, 42});
  record.feasible = draw.of<std::int64_t>("feasible", {4, 5, 30});
  record.rejected = {{"memory", draw.below("memory", 9)}, {"heads", draw.below("rejected", 9)}};
  const std::vector<ProcessGrid> grids{record.point.grid,
                                       ProcessGrid(1, 1, 1, devices),
                                       ProcessGrid(1, 1, devices, 1),
                                       ProcessGrid(1, devices, 1, 1),
                                       ProcessGrid(devices, 1, 1, 1),
                                       ProcessGrid(1, 1, 2, devices / 2)};
  for (int place = 0; place < 6; ++place) {
    record.best_grids.push_back(drawn_grid(draw, grids[static_cast<std::size_t>(place)], place));
  }
  record.best_grids.front().micro_batches = record.point.options.micro_batches;
  record.estimated = record.best_grids.front().estimated;
  record.paper_choice = record.best_grids[static_cast<std::size_t>(draw.below("paper", 5))];
  record.bar = ErrorBar{-0.1 * drawn_number(draw, "low"),
                        0.2 * drawn_number(draw, "high"),
                        draw.of<std::string>("like", {"on A and sharded", "of any kind"}),
                        draw.below("runs", 50),
                        4 + draw.below("sources", 5),
                        -0.2,
                        0.3,
                        {},
                        0.05 * drawn_number(draw, "tie"),
                        10 + draw.below("pairs", 9)};
  if (draw.often("no bar", 25)) record.bar.reset();
  if (record.fidelity == Fidelity::estimated) return;
  for (int place = 0; place < 5; ++place) {
    record.simulated.push_back(record.best_grids[static_cast<std::size_t>(place)]);
  }
  record.left_out = draw.of<std::int64_t>("left out", {0, 0, 2});
  record.verdict = draw.of<std::string>("verdict", {"settled", "exhausted", "capped"});
  record.tau = 0.5 * drawn_number(draw, "tau");
  record.regret = 0.01 * drawn_number(draw, "regret");
  if (draw.often("uniform", 30)) record.uniform = Seconds{19.0 * drawn_number(draw, "uniform s")};
}

inline void draw_measurement(const Draw& draw, Record& record) {
  const double seconds = record.seconds().value;
  record.advertised_peak = record.empirical_peak;
  record.memory_limit = {};
  record.tried = record.feasible = 1;
  record.measured = MeasuredStep{{seconds * (1.0 - 0.05 * drawn_number(draw, "low"))},
                                 {seconds * (1.0 + 0.05 * drawn_number(draw, "high"))},
                                 8 + draw.below("steps", 9),
                                 static_cast<std::uint64_t>(1 + draw.below("seed", 3)),
                                 draw.of<std::string>("transport", {"ring", "library"}),
                                 draw.of<std::string>("cpu", {"a processor", "another one"}),
                                 "some libraries",
                                 {{"product", 0.5}, {"map", 0.25}},
                                 0.01 * drawn_number(draw, "reference"),
                                 draw.of("foreign", {0.0, 0.1, 0.7})};
}

// Rows of one point share what `of_point` draws.
inline Point drawn_point_of_record(const Draw& of_point, const Draw& draw, Drawn kind,
                                   std::int64_t devices) {
  Point point;
  point.platform = of_point.of<std::string>("platform", {"hill", "/somewhere/dale.toml"});
  point.model = of_point.of<Model>(
      "model", {{"gpt-a", 24, 6144, 48, 2048, 51'200}, {"gpt-b", 30, 8192, 64, 1024, 32'000}});
  const Draw& chosen = kind == Drawn::measured ? of_point : draw;
  const bool pipelined = kind != Drawn::measured && chosen.often("pipelined", 30);
  point.grid = pipelined ? ProcessGrid(2, 1, 1, devices / 4, 2) : ProcessGrid(2, 1, 2, devices / 4);
  point.global_batch = 12 * devices;
  StepOptions& options = point.options;
  options.micro_batches = chosen.of<std::int64_t>("micro-batches", {1, 2, 3});
  options.recompute =
      chosen.of("recompute", {Recompute::full, Recompute::none, Recompute::selective});
  if (pipelined && chosen.often("interleaved", 50)) {
    options.order = PipelineOrder::interleaved;
    options.chunks = chosen.of<std::int64_t>("chunks", {2, 3});
  }
  options.zero = chosen.of<std::int64_t>("zero", {0, 0, 1, 3});
  options.sequence_parallel = chosen.often("sequence parallel", 20);
  return point;
}

inline Record drawn_record(const Draw& of_point, const Draw& draw, Drawn kind,
                           std::int64_t devices) {
  Record record;
  record.key = "key of " + std::to_string(draw.below("key", 1'000'000));
  record.fidelity = kind == Drawn::measured                                ? Fidelity::measured
                    : kind == Drawn::ranked || draw.often("simulated", 60) ? Fidelity::simulated
                                                                           : Fidelity::estimated;
  record.point = drawn_point_of_record(of_point, draw, kind, devices);
  Point& point = record.point;
  const bool pipelined = point.grid.extent(Axis::pipe) > 1;
  record.outcome = Outcome(drawn_channels(pipelined));
  const bool near = kind == Drawn::systems || kind == Drawn::measured;
  const double beside =
      near ? draw.of("beside", {1.0, 1.03, 1.06, 1.3}) : drawn_number(draw, "total");
  record.outcome.total = {4800.0 / static_cast<double>(devices) * beside *
                          (1.0 + 1e-3 * drawn_number(draw, "a little"))};
  const double part = record.outcome.total.value / 100.0;
  record.outcome.compute = {part * 30.0 * drawn_number(draw, "compute")};
  for (std::size_t c = 0; c < record.outcome.exposed.size(); ++c) {
    const std::string of = " of channel " + std::to_string(c);
    record.outcome.exposed[c] = {part * 4.0 * drawn_number(draw, "exposed" + of)};
    record.outcome.busy[c] = {part * 9.0 * drawn_number(draw, "busy" + of)};
  }
  if (pipelined) record.outcome.bubble = {part * 2.0 * drawn_number(draw, "bubble")};
  record.memory = {20e9 * drawn_number(draw, "memory")};
  record.memory_limit = {40e9 * drawn_number(draw, "limit")};
  for (int role = 0; role < role_count; ++role) {
    record.memory_by_role[role] = {2e9 * drawn_number(draw, "role " + std::to_string(role))};
  }
  if (pipelined) record.memory_by_stage = {record.memory, {18e9 * drawn_number(draw, "stage")}};
  if (draw.often("on host", 30)) record.memory_on_host = {5e9 * drawn_number(draw, "host")};
  record.executed = {1.5e15 * drawn_number(draw, "executed")};
  record.model_flops = {1e16 * static_cast<double>(devices) * drawn_number(draw, "flops")};
  record.advertised_peak = {200e12 * drawn_number(draw, "advertised")};
  record.empirical_peak = {120e12 * drawn_number(draw, "empirical")};
  if (kind == Drawn::measured) {
    draw_measurement(draw, record);
  } else {
    draw_search(draw, record);
  }
  if (kind == Drawn::ranked) record.feasible = 5 + record.left_out;
  if (kind == Drawn::systems) {
    record.system = draw.of<std::string>("system", {"north", "south", "east"});
    record.set_by = {{"zero", draw.of<std::string>("who", {"campaign", "system", "search"})},
                     {"recompute", draw.of<std::string>("who else", {"default", "command line"})}};
  }
  record.software = draw.of<std::string>("software", {"", "stack-a"});
  record.software_by = "machine";
  return record;
}

inline void draw_label(const Draw& draw, StudyRow& row) {
  row.repetition = draw.of<std::int64_t>("repetition", {1, 1, 2, 3});
  if (draw.often("plain", 30)) return;
  row.line = draw.of<std::string>("line", {"zero = 1", "bandwidth", "slow, \"quoted\""});
  row.label = row.line;
  if (row.line == "bandwidth") {
    row.value = draw.of("value", {0.5, 1.0, 2.0});
    if (draw.often("in the label", 50)) row.label = "bandwidth = " + std::to_string(*row.value);
  }
}

inline Study drawn_study(std::int64_t number, Drawn kind) {
  const Draw of_all(number, 1000 + static_cast<std::int64_t>(kind));
  Study study;
  study.title = "Study " + std::to_string(number);
  if (of_all.often("published", 50)) study.published_source = "somebody, somewhere";
  study.tokens = of_all.of("tokens", {0.0, 3e11, 2e12});
  if (of_all.often("unmatched", 40)) study.unmatched = {"a on 1", "b on 2", "c on 3", "d on 4"};
  const bool compared = kind != Drawn::plain && kind != Drawn::ranked;
  const std::int64_t of_a_point = compared ? 5 : 1;
  const std::int64_t rows = compared ? 10 : 3 + of_all.below("rows", 3);
  for (std::int64_t i = 0; i < rows; ++i) {
    const Draw draw(1000 * number + i, static_cast<std::int64_t>(kind));
    const Draw of_point(1000 * number + i / of_a_point, 50 + static_cast<std::int64_t>(kind));
    const std::int64_t devices =
        kind == Drawn::plain ? 8 << i : of_point.of<std::int64_t>("devices", {16, 32});
    StudyRow row;
    row.record = drawn_record(of_point, draw, kind, devices);
    if (kind == Drawn::plain) {
      row.record.point.platform = "hill";
      row.record.point.model.name = "gpt-a";
    }
    row.machine = machine_name(row.record.point.platform);
    row.given = row.record.tried == 1;
    if (kind == Drawn::swept || kind == Drawn::measured) draw_label(draw, row);
    if (kind != Drawn::measured && draw.often("is published", 50)) {
      row.published = Seconds{row.record.seconds().value * drawn_number(draw, "published") / 1.4};
      row.derived = draw.often("derived", 40);
      if (row.derived || draw.often("both", 50)) {
        row.published_rate = row.record.model_flops / *row.published;
      }
    }
    if (kind == Drawn::measured) {
      row.speed = drawn_number(draw, "speed") / 1.5;
      if (draw.often("twin", 60)) {
        row.twin = drawn_record(of_point, Draw(1000 * number + i, 77), Drawn::plain, devices);
      } else {
        row.no_twin = draw.of<std::string>("no twin", {"not simulated yet", "no room", ""});
      }
    }
    study.rows.push_back(row);
  }
  return study;
}

}  // namespace fourfold::tests
