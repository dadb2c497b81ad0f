// What a software keeps of a pipeline's other micro-batches: messages of each stage, logits of the
// last.
#include "sim/estimate/memory_of_software.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "sim/estimate/estimate.hpp"
#include "tests/platforms/platform_files.hpp"
#include "tests/points.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t sequences = 64;

Point pipelined(const std::string& grid, bool sequence_parallel = false) {
  Point point =
      made_up_point("crossbar", {"wide", 8, 64, 8, 32, 512}, ProcessGrid::parse(grid), sequences);
  point.options.sequence_parallel = sequence_parallel;
  return point;
}

// Bytes that are there all the time on each stage, of a software that says this of memory.
std::vector<double> always(const Point& point, std::int64_t micro_batches,
                           const std::string& says) {
  const auto path = scratch("keeps.toml");
  std::ofstream(path) << "title = \"mine\"\nlike = \"fused\"\n[memory]\n" << says;
  const Platform platform = read_platform(point.platform, {}, path.string());
  std::vector<MemoryUse> stages(static_cast<std::size_t>(point.grid.extent(Axis::pipe)));
  MemoryOfSoftware(platform, point, point.grid, micro_batches).add_to(stages);
  std::vector<double> bytes;
  for (const MemoryUse& stage : stages) bytes.push_back(stage.peak.value);
  return bytes;
}

constexpr const char* nothing = "workspaces_MiB = { value = 0, source = \"me\" }\n";
constexpr const char* logits = "logits_of_step = { value = 1, source = \"me\" }\n";
constexpr const char* messages = "messages_of_step = { value = 1, source = \"me\" }\n";

TEST(MemoryOfSoftware, HasNothingOfOtherMicroBatchesUnlessItSaysSo) {
  const Point point = pipelined("x=2,data=2,pipe=4");

  EXPECT_EQ(always(point, 8, nothing), std::vector<double>(4, 0.0));
  EXPECT_EQ(always(pipelined("x=2,data=2"), 8, logits), std::vector<double>(1, 0.0));
  EXPECT_EQ(always(pipelined("x=2,data=2"), 8, messages), std::vector<double>(1, 0.0));
}

TEST(MemoryOfSoftware, KeepsTheLogitsOfAllOtherMicroBatchesOnTheLastStage) {
  const Point point = pipelined("x=2,data=2,pipe=4");
  for (const std::int64_t micro_batches : {1, 2, 8}) {
    const double tokens = sequences * 32.0 / (2.0 * static_cast<double>(micro_batches));
    const double of_one = 2.0 * tokens * 512 / 2;

    EXPECT_EQ(always(point, micro_batches, logits),
              (std::vector<double>{0, 0, 0, static_cast<double>(micro_batches - 1) * of_one}));
  }
}

TEST(MemoryOfSoftware, KeepsNumbersOfTheWidthThatAStepHas) {
  Point point = pipelined("x=2,data=2,pipe=4");
  for (const char* says : {logits, messages}) {
    point.options.precision = Precision::bf16;
    const double half = always(point, 8, says).back();
    point.options.precision = Precision::fp32;

    EXPECT_GT(half, 0.0);
    EXPECT_EQ(always(point, 8, says).back(), 2.0 * half);
  }
}

// Of a stage's own layers, however the model is dealt out: a stage with three times the layers
// keeps three times as much of them gathered.
TEST(MemoryOfSoftware, KeepsWhatIsGatheredOfEachStagesLayers) {
  Point point = pipelined("z=2,pipe=4");
  point.options.weight_gather = WeightGather::keep;
  const char* gathers =
      "gathered_blocks = { value = 2, source = \"me\" }\n"
      "gathered_bytes = { value = 2, source = \"me\" }\n";
  const std::vector<double> even = always(point, 4, gathers);
  EXPECT_GT(even[1], 0.0);
  EXPECT_EQ(even[1], even[2]);
  point.options.layers_per_stage = LayersPerStage::parse("2,1,3,2");
  const std::vector<double> uneven = always(point, 4, gathers);

  EXPECT_EQ(uneven[0], even[0]);
  EXPECT_EQ(uneven[1], even[1] / 2.0);
  EXPECT_EQ(uneven[2], even[2] * 1.5);
}

// Each table once on each stage that has it: a tied one at both ends of a pipeline, but once on a
// stage that is both.
TEST(MemoryOfSoftware, KeepsEachTableGatheredWhereItIs) {
  const char* gathers =
      "gathered_blocks = { value = 0, source = \"me\" }\n"
      "gathered_embeddings = { value = 1, source = \"me\" }\n"
      "gathered_bytes = { value = 2, source = \"me\" }\n";
  const double table = 2.0 * 64 * 512;
  for (const EmbeddingsKind kind : {EmbeddingsKind::tied, EmbeddingsKind::untied}) {
    Point alone = pipelined("z=2"), stages = pipelined("z=2,pipe=4");
    alone.model.embeddings = stages.model.embeddings = kind;

    EXPECT_EQ(always(alone, 4, gathers),
              std::vector<double>{kind == EmbeddingsKind::tied ? table : 2 * table});
    EXPECT_EQ(always(stages, 4, gathers), (std::vector<double>{table, 0, 0, table}));
  }
}

// The first stage receives no tokens' stream, the last no gradient; what is in flight, as many
// micro-batches as there are stages from here on, a step counts itself, and one gradient.
TEST(MemoryOfSoftware, HasRoomForTheMessagesOfAllMicroBatches) {
  for (const bool cut : {false, true}) {
    const double message = 2.0 * (sequences * 32.0 / 8 / 2) * 64 / (cut ? 2.0 : 1.0);

    EXPECT_EQ(
        always(pipelined("x=2,data=2,pipe=4", cut), 8, messages),
        (std::vector<double>{7 * message, (5 + 7) * message, (6 + 7) * message, 7 * message}));
  }
}

// Where halves of a backward pass are done apart, each stage has as many micro-batches in flight as
// there are stages, and ends one of them with its weights' gradients.
TEST(MemoryOfSoftware, HasRoomForTheMessagesOfSplitBackwards) {
  Point point = pipelined("x=2,data=2,pipe=4");
  point.options.order = PipelineOrder::zero_bubble;
  for (const std::int64_t micro_batches : {4, 8, 16}) {
    const auto m = static_cast<double>(micro_batches);
    const double message = 2.0 * (sequences * 32.0 / m / 2) * 64;

    EXPECT_EQ(always(point, micro_batches, messages),
              (std::vector<double>{(m - 1) * message, (m - 4 + m - 1) * message,
                                   (m - 4 + m - 1) * message, (m - 4) * message}));
  }
}

// Where gradients are whole on each device, and where the weights are cut as well, it has what it
// says of them.
TEST(MemoryOfSoftware, CutsItsGradientsUnderZeroTwoAlone) {
  const auto path = scratch("gradients.toml");
  std::ofstream(path) << "title = \"mine\"\nlike = \"fused\"\n[memory]\n"
                         "gradients = { value = 4, source = \"me\" }\n";
  for (std::int64_t zero = 0; zero <= 3; ++zero) {
    Point point = pipelined("x=2,data=4");
    point.options.zero = zero;
    const Platform platform = read_platform(point.platform, {}, path.string());

    EXPECT_EQ(MemoryOfSoftware(platform, point, point.grid, 4).rules().gradients,
              zero == 2 ? 1.0 : 4.0)
        << zero;
  }
}

// Whatever is trained with: ZeRO cuts along data alone, and a forward pass has the weights that it
// computes with.
TEST(MemoryOfSoftware, IsCutWhereThereIsSomethingToCut) {
  for (const std::string& software : known_software()) {
    SCOPED_TRACE(software);
    const auto used = [](const std::string& grid, std::int64_t zero, Phase phase,
                         const std::string& with) {
      Point point = pipelined(grid);
      point.software = with;
      point.options.zero = zero;
      point.options.phase = phase;
      return estimate_step(point, read_platform(point.platform, {}, with)).memory;
    };
    const double cut_by_z = used("x=2,z=4", 0, Phase::training, software).peak.value;
    for (const std::int64_t zero : {1, 2, 3}) {
      EXPECT_EQ(used("x=2,z=4", zero, Phase::training, software).peak.value, cut_by_z) << zero;
    }
    for (const Phase phase : {Phase::evaluation, Phase::prefill, Phase::decode}) {
      const auto weights = [&](const std::string& with) {
        return used("x=2,z=2", 0, phase, with).by_role[static_cast<std::size_t>(Role::parameter)];
      };
      EXPECT_EQ(weights(software), weights("fused")) << row_of(phase).name;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
