// Costs of drawn steps on machines and with software that have what the tests' plain machines lack:
// crowded nodes, devices that differ, tiles, measured products, attention by length, measured
// collectives, eager kernels, ranks in other orders and on listed devices.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule/fold/short_folds.hpp"
#include "schedule/program/function.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/drawn_points.hpp"
#include "tests/shapes.hpp"
#include "tests/slowed_machine.hpp"

namespace fourfold::tests {
namespace {

struct Question {
  Point point;
  Platform platform;
  std::string words;
};

void change_processor(const Draw& draw, Processor& processor) {
  if (draw.often("spread", 40)) processor.spread = 0.01;
  if (draw.often("tiles", 50)) processor.tiles = ProductTiles{100, 64, 48.0};
  if (draw.often("largest rate between", 30)) processor.gemm[1].rate = {160e12};
  if (draw.often("flash 1", 70)) processor.flash_1 = 0.5;
  if (draw.often("flash 3", 70)) processor.flash_3 = 1.5;
  if (draw.often("attention by length", 50)) {
    processor.attention = {
        {50, {20e12}, {10e12}}, {700, {60e12}, {25e12}}, {1500, {90e12}, {30e12}}};
  }
  for (std::size_t form = 0; form < processor.products.size(); ++form) {
    if (!draw.often("products of form " + std::to_string(form), 40)) continue;
    ProductGrid& grid = processor.products[form];
    grid = {{32, 512, 4096}, {64, 1024}, {16, 256, 8192}, {}};
    for (int i = 0; i < 18; ++i) {
      grid.rates.push_back({1e12 * (5.0 + 7.0 * i + 3.0 * static_cast<double>(form))});
    }
  }
  if (draw.often("host link", 80)) processor.host_link = BytesPerSecond{15e9};
}

void change_library(const Draw& draw, CollectiveLibrary& library) {
  if (draw.often("ring bases", 40)) {
    library.low_latency.ring_base_factor = 0.5;
    library.simple.ring_base_factor = 1.5;
  }
  if (draw.often("exponents", 40)) {
    library.low_latency.bandwidth_exponent_across = 0.0;
    library.simple.bandwidth_exponent_across = 0.5;
  }
  if (draw.often("sharing", 50)) library.sharing_a_node = 4;
  if (draw.often("strides", 40)) {
    library.in_node_by_stride = {{2, 2, {31e9}}, {3, 2, {29e9}}, {1, 4, {57e9}}};
  }
  if (!draw.often("measured", 40)) return;
  for (CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
    for (int members : {2, 3, 4}) {
      for (int devices : {3, 4, 6}) {
        const double slower = (kind == CollectiveKind::all_reduce ? 2.0 : 1.0) * members * devices;
        library.measured.push_back(
            {kind,
             members,
             devices,
             {{1e3, {slower * 2e-6}}, {1e5, {slower * 9e-6}}, {1e6, {slower * 50e-6}}}});
      }
    }
  }
}

void change_software(const Draw& draw, Software& software) {
  software.attention =
      draw.of("attention of",
              {AttentionSoftware::flash_1, AttentionSoftware::flash_2, AttentionSoftware::flash_3});
  software.tuned_products = draw.often("tuned", 30);
  if (draw.often("dispatch", 40)) software.dispatch = {5e-6};
  if (!draw.often("eager", 60)) return;
  const auto instead = [&](const Function& function, const std::string& written) {
    software.maps[&function] = map_kernels(written);
  };
  instead(functions::layer_norm, "3 x read 2 4 write 4");
  instead(functions::rms_norm, "read 2 write 4");
  instead(functions::layer_norm_backward, "read 2 2 1 write 2");
  instead(functions::bias_gelu, "2 x read 2 write 2");
  instead(functions::swiglu, "read 2 write 2 of 1/2");
  instead(functions::causal_softmax, "read 2 write 2 1");
  instead(functions::softmax_loss, "0.41 ns");
  software.maps[&functions::row_max] = {};
  software.beside[&functions::attention] = map_kernels("read 2 write 2 of 1/3");
  software.beside[&functions::scores] = map_kernels("read 2 write 2 of 1/3");
  software.beside[&functions::attention_backward] = map_kernels("read 2 2 write 2 2");
  software.beside[&functions::qkv_backward] = map_kernels("read 2 2 write 2 2");
  if (draw.often("update", 60)) software.others["update"] = map_kernels("read 4 4 4 write 4 4");
  if (draw.often("add", 60)) software.others["add"] = map_kernels("read 2 2 write 2");
  if (draw.often("gradient sum", 60)) {
    software.others["gradient_sum"] = map_kernels("read 4 2 write 4");
  }
}

// Ranks dealt out to the nodes by turns.
void deal_out(Point& point, const Platform& platform) {
  const std::int64_t ranks = point.grid.size();
  const std::int64_t nodes = (ranks + platform.node.devices - 1) / platform.node.devices;
  point.what_ifs.placement.by = Placing::devices;
  for (std::int64_t i = 0; i < ranks; ++i) {
    point.what_ifs.placement.list.push_back(i % nodes * platform.node.devices + i / nodes);
  }
}

Question drawn_question(std::int64_t number) {
  const Draw draw(number, 7);
  const std::string machine =
      fixed_machines[static_cast<std::size_t>(number) % fixed_machines.size()];
  Question drawn;
  drawn.platform = read_platform(path_of_machine(machine));
  Platform& platform = drawn.platform;
  change_processor(draw, platform.processor);
  change_library(draw, platform.library);
  change_software(draw, platform.software);
  if (draw.often("crowding", 40)) {
    platform.node.crowding = {{2, 1.0}, {3, 1.125}, {8, 1.25}, {24, 1.5}};
  }
  const std::vector<Model> shapes = shapes_of({"shaped", 6, 768, 12, 256, 5003});
  const auto shape =
      static_cast<std::size_t>(draw.below("shape", static_cast<std::int64_t>(shapes.size())));
  // Half of them on few devices, where much lies in a node.
  const std::int64_t most = draw.often("small", 50) ? 8 : 64;
  DrawnStep step = draw.often("one of the shapes", 40)
                       ? drawn_step(number + 1000, most, shapes[shape])
                       : drawn_step(number + 1000, most);
  if (!platform.processor.host_link) step.options.offload_bucket = 0;
  if (draw.often("bucket", 30)) step.options.data_bucket = 1 << 20;
  step.options.offload_activations = platform.processor.host_link && draw.often("away", 40);
  const std::int64_t longer = draw.of<std::int64_t>("longer", {1, 1, 3});
  step.options.micro_batches *= longer;
  step.batch *= longer;
  Point& point = drawn.point;
  point.platform = path_of_machine(machine);
  point.model = step.model;
  point.grid = step.grid;
  point.global_batch = step.batch;
  point.options = step.options;
  const int ordered = static_cast<int>(draw.below("rank order", 4));
  if (ordered == 0) point.options.rank_order = RankOrder::parse("pipe,data,x,z,y");
  if (ordered == 1) point.options.rank_order = RankOrder::parse("z,y,x,data,pipe");
  if (ordered == 2) deal_out(point, platform);
  if (draw.often("collective", 25)) {
    point.what_ifs.collective = collective_tuning(
        draw.of<std::string>("tuning", {"ring", "tree", "recursive", "hierarchical"}));
  }
  drawn.words = machine + ": " + words_of(step) + ", " + name(point.what_ifs.collective);
  return drawn;
}

// No collective is faster than its delay and its work at the rate it is capped at, and each second
// comes from a number of the machine.
TEST(DrawnCosts, AreThoseOfTheirMachine) {
  for (std::int64_t number = 0; number < 140; ++number) {
    const Question drawn = drawn_question(number);
    const TimedProgram program = lower(drawn.point, drawn.platform);
    const TimedProgram slow = lower(drawn.point, slowed(drawn.platform, 2.0));
    for (const TimedCollective& one : program.collectives) {
      const double least =
          one.cost.delay.value +
          (one.cost.work.value > 0.0 ? one.cost.work.value / one.cost.rate_cap.value : 0.0);
      EXPECT_GE(one.uncontended.value, least * (1.0 - 1e-9)) << drawn.words;
      EXPECT_TRUE(one.lost.of_collectives >= 0.0 && one.lost.of_collectives < 1.0) << drawn.words;
      EXPECT_TRUE(one.lost.of_kernels >= 0.0 && one.lost.of_kernels < 1.0) << drawn.words;
    }
    ASSERT_EQ(program.steps.size(), slow.steps.size());
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      EXPECT_NEAR(slow.steps[i].duration.value, 2.0 * program.steps[i].duration.value,
                  1e-9 * program.steps[i].duration.value)
          << drawn.words;
    }
    ASSERT_EQ(program.collectives.size(), slow.collectives.size());
    for (std::size_t i = 0; i < program.collectives.size(); ++i) {
      EXPECT_NEAR(slow.collectives[i].uncontended.value,
                  2.0 * program.collectives[i].uncontended.value,
                  1e-9 * program.collectives[i].uncontended.value)
          << drawn.words;
      EXPECT_EQ(slow.collectives[i].algorithm, program.collectives[i].algorithm) << drawn.words;
    }
    EXPECT_NEAR(estimate_step(slow).total.value / estimate_step(program).total.value, 2.0, 1e-9)
        << drawn.words;
  }
}

constexpr double within = 1e-9;

void expect_near(double walked, double stepped, double scale, const std::string& what) {
  EXPECT_NEAR(walked, stepped, within * scale) << what;
}

void expect_equal(const Outcome& walked, const Outcome& stepped, const std::string& what) {
  const double total = stepped.total.value;
  expect_near(walked.total.value, total, total, what + " total");
  expect_near(walked.compute.value, stepped.compute.value, total, what + " compute");
  expect_near(walked.bubble.value, stepped.bubble.value, total, what + " bubble");
  ASSERT_EQ(walked.channels, stepped.channels) << what;
  for (std::size_t c = 0; c < walked.channels.size(); ++c) {
    const std::string channel = what + ' ' + name(walked.channels[c]);
    expect_near(walked.exposed[c].value, stepped.exposed[c].value, total, channel + " exposed");
    expect_near(walked.busy[c].value, stepped.busy[c].value, total, channel + " busy");
  }
}

void expect_equal(const Estimate& walked, const Estimate& stepped, const std::string& what) {
  expect_equal(walked.outcome, stepped.outcome, what);
  ASSERT_EQ(walked.stage_memory.size(), stepped.stage_memory.size()) << what;
  for (std::size_t i = 0; i < walked.stage_memory.size(); ++i) {
    EXPECT_EQ(walked.stage_memory[i].peak.value, stepped.stage_memory[i].peak.value) << what;
    EXPECT_EQ(walked.stage_memory[i].by_role, stepped.stage_memory[i].by_role) << what;
  }
  const Counts& a = walked.counts;
  const Counts& b = stepped.counts;
  expect_near(a.gemm.value, b.gemm.value, b.gemm.value, what + " gemm");
  expect_near(a.functions.value, b.functions.value, b.gemm.value, what + " functions");
  ASSERT_EQ(a.channels, b.channels) << what;
  EXPECT_EQ(a.collectives, b.collectives) << what;
  for (std::size_t c = 0; c < a.channels.size(); ++c) {
    expect_near(a.payload[c].value, b.payload[c].value, b.payload[c].value + 1, what + " payload");
    expect_near(a.sent[c].value, b.sent[c].value, b.sent[c].value + 1, what + " sent");
  }
}

// What a search puts together of parts that stages share costs the same: seconds and where they
// went, memory, counts; after another grid, too, of which nothing is left.
TEST(DrawnCosts, AreThoseOfTheParts) {
  for (std::int64_t number = 0; number < 140; ++number) {
    const Question drawn = drawn_question(number);
    Point point = drawn.point;
    point.global_batch *= 2;
    const ProcessGrid& grid = point.grid;
    const ProcessGrid twice(grid.extent(Axis::x), grid.extent(Axis::y), grid.extent(Axis::z),
                            2 * grid.extent(Axis::data), grid.extent(Axis::pipe));
    const std::int64_t micro_batches = point.options.micro_batches;
    const std::string words = std::to_string(number) + ": " + drawn.words;
    const std::vector<Folded> stages =
        folded_stages(point.model, in_effect(point.options, grid), grid.extent(Axis::pipe));
    Estimator estimator(drawn.platform, point);
    if (point.what_ifs.placement.by != Placing::devices) {
      estimator.evaluate(stages, twice, micro_batches);
      estimator.evaluate(Pipeline(stages), twice, micro_batches);
    }

    const Estimate stepped = estimator.evaluate(stages, grid, micro_batches);
    const Estimate parts = estimator.evaluate(Pipeline(stages), grid, micro_batches);
    const double seconds = estimate_step(point, drawn.platform).outcome.total.value;

    expect_equal(parts, stepped, words);
    EXPECT_NEAR(parts.outcome.total.value / seconds, 1.0, 1e-9) << words;
    for (const Folded& stage : stages) {
      // What a search leaves out is slower without a doubt, however little is asked for.
      for (const double part : {0.5, 2.0}) {
        EXPECT_LE(estimator.alone(stage, grid, micro_batches, {part * seconds}).value, seconds)
            << words;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
