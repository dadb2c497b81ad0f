// Every number of the rungs that need no simulation, for questions that use each machine, each
// option and each kind of grid: a change that moves one shows here, whether it was meant or not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schedule/fold/count.hpp"
#include "schedule/models/model_flops.hpp"
#include "sim/cost/lower.hpp"
#include "sim/cost/paper_model.hpp"
#include "sim/cost/waiting.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/point_json.hpp"
#include "tests/outcome_laws.hpp"
#include "tests/slowed_machine.hpp"

namespace fourfold::tests {
namespace {

// Sizes that divide by little, so that blocks, pieces and vocabularies are padded.
const Model odd{"odd", 7, 1440, 12, 600, 50'257};
// Products that are bound by flops and messages that are bound by bandwidth.
const Model wide{"wide", 6, 7680, 96, 2048, 51'200};

struct Asked {
  const char* machine;
  const Model& model;
  const char* grid;
  std::int64_t batch;
  const char* options = "{}";  // over the usual ones
  const char* what_ifs = "{}";
};

const std::vector<Asked> questions{
    {"frontier", wide, "2x2x4x2", 64},
    {"frontier", odd, "2x2x3x5", 60, R"({"micro_batches": 2})"},
    {"frontier", wide, "4x2x8x16", 256, R"({"recompute": "none"})"},
    {"frontier", wide, "2x4x16x4", 128, R"({"precision": "fp32"})"},
    {"frontier", wide, "1x1x32x32", 1024, R"({"in_flight_blocks": 1})"},
    {"frontier", wide, "1x1x32x32", 1024, R"({"in_flight_blocks": 5, "micro_batches": 1})"},
    {"frontier", odd, "4x1x8x2", 96, R"({"micro_batches": 6, "in_flight_blocks": 3})"},
    {"frontier", wide, "48x1x4x4", 64, R"({"micro_batches": 4})"},
    {"frontier", wide, "8x1x4x4", 64, "{}", R"({"collective": "all-reduce:tree"})"},
    {"frontier", wide, "8x1x4x4", 64, "{}", R"({"collective": "hierarchical"})"},
    {"alps", wide, "4x4x8x4", 128, R"({"overlap": {"all_reduce": false}})"},
    {"alps", wide, "4x4x8x4", 128, R"({"overlap": {"reduce_scatter": false}})"},
    {"alps", wide, "4x4x8x4", 128, R"({"overlap": {"all_gather": false}})"},
    {"alps", wide, "4x4x8x4", 128, R"({"overlap": {"recompute_gather": false}})"},
    {"alps", odd, "3x1x4x16", 128, R"({"weight_gather": "keep", "micro_batches": 2})"},
    {"perlmutter", wide, "2x2x8x8", 256,
     R"({"gradient_reduction": "accumulated", "micro_batches": 4})"},
    {"perlmutter", wide, "2x2x8x8", 256, R"({"data_reduction": "beside-backward"})"},
    {"perlmutter", odd, "1x3x8x8", 256, R"({"grad_reduce_precision_z": "fp32"})"},
    {"perlmutter", odd, "1x3x8x8", 256, R"({"grad_reduce_precision_data": "bf16"})"},
    {"aurora", wide, "6x2x8x8", 128},
    {"aurora", wide, "4x2x8x8", 128, R"({"sequence_parallel": true})"},
    {"aurora", odd, "12x1x5x4", 80, R"({"sequence_parallel": true, "micro_batches": 2})"},
    {"polaris", wide, "4x1x16x4", 128, R"({"zero": 1})"},
    {"polaris", wide, "4x1x8x8", 128, R"({"zero": 2, "micro_batches": 2})"},
    {"polaris", odd, "2x1x4x12", 96, R"({"zero": 3, "micro_batches": 2})"},
    {"selene", wide, "x=8,data=4,pipe=3", 96, R"({"micro_batches": 8})"},
    {"selene", wide, "x=8,data=2,pipe=6", 96, R"({"micro_batches": 12, "order": "gpipe"})"},
    {"selene", wide, "x=4,z=2,data=2,pipe=3", 96,
     R"({"micro_batches": 6, "order": "interleaved", "chunks": 2})"},
    {"selene", odd, "x=2,y=3,pipe=2", 24,
     R"({"micro_batches": 4, "order": "interleaved", "chunks": 3, "sequence_parallel": true})"},
    {"selene", odd, "x=4,data=6,pipe=3", 108,
     R"({"micro_batches": 9, "zero": 1, "recompute": "none"})"},
    {"selene", odd, "x=4,data=6,pipe=2", 96, R"({"micro_batches": 8, "zero": 2})"},
    {"dgx-h100", wide, "x=8,data=4,pipe=2", 64,
     R"({"micro_batches": 4, "overlap": {"messages": false}})"},
    {"dgx-h100", wide, "8x1x4x4", 64},
    {"meta-24k-h100", wide, "8x1x16x64", 2048, R"({"micro_batches": 2})"},
    {"meta-24k-h100", odd, "4x1x9x7", 126},
    {"summit", wide, "6x1x8x4", 64},
    {"summit", odd, "3x2x4x9", 72, R"({"micro_batches": 2})"},
    {"jean-zay", wide, "4x2x8x4", 64},
    {"juwels-booster", wide, "4x1x8x24", 384},
    {"juwels-booster", odd, "2x1x7x8", 112},
    {"leonardo", wide, "4x1x16x16", 512},
    {"leonardo", odd, "2x3x5x4", 60},
    {"lumi", wide, "8x2x8x16", 256},
    {"lumi", odd, "4x3x5x7", 70},
    {"torus", wide, "4x2x8x4", 64},
    {"torus", odd, "2x3x4x5", 60},
    {"crossbar", wide, "4x2x4x4", 64},
    {"crossbar-shared", wide, "4x2x4x4", 64, R"({"micro_batches": 2})"},
};

Point point_of(const Asked& asked) {
  using nlohmann::json;
  Point point;
  point.platform = asked.machine;
  point.model = asked.model;
  point.grid = ProcessGrid::parse(asked.grid);
  point.global_batch = asked.batch;
  json options = json_of(StepOptions{});
  options.merge_patch(json::parse(asked.options));
  point.options = read_options(JsonObject(options, "options"));
  const json what_ifs = json::parse(asked.what_ifs);
  point.what_ifs = read_what_ifs(JsonObject(what_ifs, "what-ifs"));
  return point;
}

TEST(Answers, OfTheClosedFormAddUpAndTakeTwiceAsLongOnAMachineHalfAsFast) {
  for (const Asked& asked : questions) {
    const std::string words = std::string(asked.machine) + " " + asked.grid + " " + asked.options;
    const Point point = point_of(asked);
    const Platform platform = read_platform(point.platform);

    const Estimate found = estimate_step(point, platform);

    const ExpectedWaiting waiting = expected_waiting(lower(point, platform));
    expect_parts_add_up(found.outcome, waiting.of_channels, words);
    expect_times(estimate_step(point, slowed(platform, 2.0)).outcome, found.outcome, 2.0, words);
    double bytes = 0.0;
    for (Bytes one : found.memory.by_role) bytes += one.value;
    EXPECT_DOUBLE_EQ(bytes, found.memory.peak.value) << words;
    const Counts& counts = found.counts;
    // The published formula counts the half of attention that a causal mask leaves out.
    EXPECT_GE(counts.executed().value * static_cast<double>(point.grid.size()),
              0.95 * model_flops(point.model, point.global_batch, point.options).value)
        << words;
    for (std::size_t c = 0; c < counts.channels.size(); ++c) {
      EXPECT_EQ(counts.collectives[c] > 0, counts.payload[c].value > 0.0) << words;
      EXPECT_LT(counts.sent[c].value, 2.0 * counts.payload[c].value + 1.0) << words;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
