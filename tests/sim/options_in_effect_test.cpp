// Options of a step and what they do to seconds and bytes: nothing where they have nothing to act
// on; a padded vocabulary is that of a model with so many words; inputs of blocks that go to the
// host take a copy each way; reductions hide, and cost nothing where products sum; products of 8
// bits save time and bytes, and machines without them refuse.
#include "schedule/program/options_in_effect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "platforms/software.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/vocabulary.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/drawn_points.hpp"
#include "tests/points.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

struct IdleChange {
  const char* words;
  std::function<bool(const Point&)> idle;  // where it says nothing
  std::function<void(StepOptions&)> apply;
};

bool no_data(const Point& point) {
  return point.grid.extent(Axis::data) == 1;
}
bool no_z(const Point& point) {
  return point.grid.extent(Axis::z) == 1;
}
bool no_x(const Point& point) {
  return point.grid.extent(Axis::x) == 1;
}
bool gathers_nothing(const Point& point) {
  return no_z(point) && (no_data(point) || point.options.zero == 0);
}
bool repeats_less_than_all(const Point& point) {
  return point.options.recompute != Recompute::full;
}

const std::vector<IdleChange> changes{
    {"zero 1", no_data, [](StepOptions& o) { o.zero = 1; }},
    {"zero 2", no_data, [](StepOptions& o) { o.zero = 2; }},
    {"zero 3", no_data, [](StepOptions& o) { o.zero = 3; }},
    {"no zero", no_data, [](StepOptions& o) { o.zero = 0; }},
    {"data bucket", no_data, [](StepOptions& o) { o.data_bucket = 50'000'000; }},
    {"data bucket by members", no_data, [](StepOptions& o) { o.data_bucket_each = 50'000'000; }},
    {"reduced beside backward", no_data,
     [](StepOptions& o) { o.data_reduction = DataReduction::beside_backward; }},
    {"bf16 along data", no_data,
     [](StepOptions& o) { o.grad_reduce_precision_data = Precision::bf16; }},
    {"fp32 along z", no_z, [](StepOptions& o) { o.grad_reduce_precision_z = Precision::fp32; }},
    {"sequence parallel", no_x, [](StepOptions& o) { o.sequence_parallel = true; }},
    {"keep", gathers_nothing, [](StepOptions& o) { o.weight_gather = WeightGather::keep; }},
    {"8 blocks in flight", gathers_nothing, [](StepOptions& o) { o.in_flight_blocks = 8; }},
    {"activations on the host", repeats_less_than_all,
     [](StepOptions& o) { o.offload_activations = true; }},
};

TEST(OptionsInEffect, ThatHaveNothingToActOnChangeNothing) {
  std::map<std::string, int> compared;
  for (std::int64_t number = 0; number < 60; ++number) {
    const DrawnPoint drawn = drawn_point(number, 16);
    const Point& point = drawn.point;
    for (const IdleChange& change : changes) {
      Point other = point;
      change.apply(other.options);
      if (!change.idle(point)) continue;
      if (!misfit(other.model, other.grid, other.global_batch, other.options).empty()) continue;
      const Estimate plain = estimate_step(point, drawn.platform);
      const Estimate changed = estimate_step(other, drawn.platform);
      SCOPED_TRACE(std::string(change.words) + ": " + drawn.step_words + drawn.words);
      EXPECT_EQ(plain.outcome.total, changed.outcome.total);
      EXPECT_EQ(plain.memory.peak, changed.memory.peak);
      ++compared[change.words];
    }
  }
  for (const IdleChange& change : changes) EXPECT_GT(compared[change.words], 5) << change.words;
}

// So many elements of a device, for each member along data, are so many of the model.
TEST(OptionsInEffect, OfBucketsByMembersAreThoseOfTheModel) {
  StepOptions options;
  options.data_bucket_each = 1000;
  for (const char* text : {"1x1x1x2", "2x1x1x4", "2x3x1x4", "1x3x5x4", "4x2x2x8"}) {
    const ProcessGrid grid = ProcessGrid::parse(text);
    const StepOptions own = in_effect(options, grid);
    EXPECT_EQ(own.data_bucket, 1000 * grid.size() / grid.extent(Axis::z)) << text;
    EXPECT_EQ(own.data_bucket_each, 0);
  }
}

TEST(PaddedVocabulary, IsThatOfAModelWithSoManyWords) {
  int padded = 0;
  for (std::int64_t number = 0; number < 60; ++number) {
    DrawnPoint drawn = drawn_point(number, 64);
    Point& point = drawn.point;
    point.options.pad_vocabulary = Draw(number, 0).of<std::int64_t>("unit", {1, 8, 64, 128});
    Point said = point;
    said.options.pad_vocabulary = 0;
    said.model.vocabulary =
        padded_vocabulary(point.model, point.options, point.grid.extent(Axis::x));
    padded += said.model.vocabulary > point.model.vocabulary ? 1 : 0;

    const Estimate one = estimate_step(point, drawn.platform);
    const Estimate other = estimate_step(said, drawn.platform);

    EXPECT_EQ(one.outcome.total.value, other.outcome.total.value) << drawn.step_words;
    EXPECT_EQ(one.memory.peak.value, other.memory.peak.value) << drawn.step_words;
    EXPECT_EQ(one.counts.executed().value, other.counts.executed().value) << drawn.step_words;
  }
  EXPECT_GT(padded, 20);
}

TEST(PaddedVocabulary, IsAWholeNumberOfUnitsOnEachDevice) {
  const Model model{"words", 2, 64, 4, 16, 50'257};
  StepOptions options;
  options.pad_vocabulary = 128;
  EXPECT_EQ(padded_vocabulary(model, options, 1), 50'304);
  EXPECT_EQ(padded_vocabulary(model, options, 4), 50'688);
  EXPECT_EQ(padded_vocabulary(model, {}, 1), 50'257);
  for (std::int64_t unit : {1, 3, 64, 128}) {
    for (std::int64_t x = 1; x < 12; ++x) {
      options.pad_vocabulary = unit;
      const std::int64_t padded = padded_vocabulary(model, options, x);
      EXPECT_EQ(padded % (unit * x), 0);
      EXPECT_GE(padded, model.vocabulary);
      EXPECT_LT(padded - unit * x, model.vocabulary);
    }
  }
}

Point recomputing(const std::string& machine) {
  Point point;
  point.platform = path_of_machine(machine);
  point.model = {"small", 6, 960, 12, 512, 5000};
  point.options.recompute = Recompute::full;
  return point;
}

TEST(OffloadActivations, TakeTwoCopiesOfEachInput) {
  for (const char* machine : {"dragonfly", "torus", "fat-tree-2"}) {
    const Platform platform = read_platform(path_of_machine(machine));
    for (const std::int64_t micro_batches : {1, 4}) {
      Point point = recomputing(machine);
      point.options.micro_batches = micro_batches;
      point.global_batch = 2 * micro_batches;
      Point away = point;
      away.options.offload_activations = true;

      const double longer = (estimate_step(away, platform).outcome.total -
                             estimate_step(point, platform).outcome.total)
                                .value;

      const Processor& processor = platform.processor;
      const Bytes input{2.0 * 512 * 960 * 2};
      const Seconds copy = std::max(input / *processor.host_link + processor.launch_overhead,
                                    platform.software.dispatch);
      const double copies = 2.0 * 6.0 * static_cast<double>(micro_batches);
      EXPECT_NEAR(longer, copies * copy.value, 1e-6 * copies * copy.value) << machine;
    }
  }
}

TEST(OffloadActivations, NeedALinkToTheHost) {
  Point point = recomputing("crossbar");
  point.global_batch = 1;
  point.options.offload_activations = true;
  const Platform platform = read_platform(point.platform);

  EXPECT_THAT(refusal([&] { estimate_step(point, platform); }),
              HasSubstr("does not say what a device's link to its host sustains, which activations "
                        "on the host need: processor.host_link_GBps"));
  point.options.recompute = Recompute::none;
  EXPECT_EQ(refusal([&] { estimate_step(point, platform); }), "accepted");
}

Point on_h100(std::int64_t micro_batches) {
  Point point = made_up_point("dgx-h100", {"wide", 8, 8192, 64, 2048, 51'200},
                              ProcessGrid(4, 1, 1, 4), 4 * micro_batches);
  point.options.micro_batches = micro_batches;
  point.options.recompute = Recompute::none;
  return point;
}

// 16 devices: a product for a weight's gradient that adds to the sum itself.
TEST(Reductions, SumsInsideAProductCostNothing) {
  for (const std::string& name : known_software()) {
    Platform platform = read_platform("dgx-h100");
    platform.software = read_software(name);
    const MapKernels* sum = platform.software.gradient_sum();
    if (sum == nullptr || !sum->empty()) continue;
    Point point = on_h100(8);
    point.grid = ProcessGrid(4, 1, 1, 1);  // nothing is reduced, but for the sums
    point.global_batch = 8;
    const auto compute = [&](GradientReduction reduction) {
      point.options.gradient_reduction = reduction;
      return estimate_step(point, platform).outcome.compute.value;
    };

    const double each = compute(GradientReduction::per_micro_batch);
    const double sums = compute(GradientReduction::accumulated);

    EXPECT_LE(sums, each * 1.01) << name;  // a cast more
  }
}

// Beside kernels both are slower, and lanes share what they need: so much may be lost.
constexpr double lost_at_most = 0.05;

TEST(Reductions, BesideTheBackwardPassHoldNobodyUpAndHideOften) {
  int hidden = 0;
  for (std::int64_t number = 0; number < 120; ++number) {
    DrawnPoint drawn = drawn_point(number, 24);
    StepOptions& options = drawn.point.options;
    if (options.order == PipelineOrder::message_driven) continue;
    SCOPED_TRACE(drawn.words + ", " + drawn.step_words);
    options.data_reduction = DataReduction::after_backward;
    const Outcome after = estimate_step(drawn.point, drawn.platform).outcome;
    options.data_reduction = DataReduction::beside_backward;
    const Outcome beside = estimate_step(drawn.point, drawn.platform).outcome;

    EXPECT_LE(beside.total.value, after.total.value * (1.0 + lost_at_most));
    const bool less = beside.exposed_along(Axis::data) < after.exposed_along(Axis::data) * 0.8;
    hidden += less && beside.total < after.total ? 1 : 0;
  }
  EXPECT_GT(hidden, 10);
}

double sent_along_x(const Estimate& found) {
  double sent = 0.0;
  for (std::size_t c = 0; c < found.counts.channels.size(); ++c) {
    if (found.counts.channels[c].axis == Axis::x) sent += found.counts.sent[c].value;
  }
  return sent;
}

TEST(Reductions, OfParallelBlocksAreMerged) {
  const Platform platform = read_platform("dgx-h100");
  for (bool biases : {true, false}) {
    for (bool sequence_parallel : {true, false}) {
      Point point = on_h100(1);
      point.model.biases = biases;
      point.options.sequence_parallel = sequence_parallel;
      const Estimate one_by_one = estimate_step(point, platform);
      point.model.residual = ResidualKind::parallel;
      const Estimate merged = estimate_step(point, platform);

      EXPECT_LT(sent_along_x(merged), 0.95 * sent_along_x(one_by_one));
      EXPECT_LT(merged.outcome.total.value, one_by_one.outcome.total.value);
      EXPECT_EQ(merged.counts.executed().value, one_by_one.counts.executed().value);
    }
  }
}

constexpr ProductPrecision narrow[]{ProductPrecision::fp8_delayed, ProductPrecision::fp8_current,
                                    ProductPrecision::mxfp8};

// Eight layers on 16 devices of two nodes, tokens cut by x between blocks.
Point wide(ProductPrecision products) {
  Point point =
      made_up_point("dgx-b200", {"wide", 8, 8192, 64, 4096, 51'200}, ProcessGrid(4, 1, 2, 2), 16);
  point.options.micro_batches = 4;
  point.options.recompute = Recompute::none;
  point.options.sequence_parallel = true;
  point.options.products = products;
  return point;
}

Estimate estimated(const Point& point) {
  return estimate_step(point, read_platform(point.platform, {}, "megatron-core"));
}

TEST(NarrowProducts, TakeAsManyFlopsInLessTimeButForTheirCasts) {
  const Estimate stored = estimated(wide(ProductPrecision::stored));
  for (const ProductPrecision products : narrow) {
    SCOPED_TRACE(name(products));
    const Estimate fast = estimated(wide(products));
    EXPECT_EQ(fast.counts.gemm.value, stored.counts.gemm.value);
    EXPECT_LT(fast.outcome.compute, stored.outcome.compute);
    EXPECT_GT(fast.outcome.compute, stored.outcome.compute * 0.4);
  }
  // A scale that is found first is one more pass over what is cast.
  EXPECT_LT(estimated(wide(ProductPrecision::fp8_delayed)).outcome.compute,
            estimated(wide(ProductPrecision::fp8_current)).outcome.compute);
}

// Tokens along x and weights along z are gathered as they are multiplied, in a byte instead of two;
// what is summed stays as it was, and so do the logits' weights.
TEST(NarrowProducts, AreGatheredNarrow) {
  const Estimate stored = estimated(wide(ProductPrecision::stored));
  for (const ProductPrecision products : narrow) {
    SCOPED_TRACE(name(products));
    const Estimate fast = estimated(wide(products));
    for (std::size_t c = 0; c < stored.counts.channels.size(); ++c) {
      const double before = stored.counts.payload[c].value, now = fast.counts.payload[c].value;
      const Channel& channel = stored.counts.channels[c];
      if (channel.axis == Axis::x) {
        EXPECT_LT(now, 0.8 * before);
        EXPECT_GE(now, 0.5 * before);
      } else if (channel.axis == Axis::z && channel.purpose == "gather") {
        EXPECT_LT(now, 0.7 * before);
        EXPECT_GE(now, 0.5 * before);
      } else {
        EXPECT_EQ(now, before) << channel.purpose;
      }
    }
  }
}

TEST(NarrowProducts, AreRefusedWhereNobodySaysTheirRates) {
  const auto said = [](const char* platform, ProductPrecision products) {
    return refusal([&] { estimate_step(wide(products), read_platform(platform)); });
  };
  for (const ProductPrecision products : narrow) {
    EXPECT_EQ(said("frontier", products),
              "frontier has no products of 8 bits: it does not say their rates "
              "(processor.gemm_fp8); ask for --products stored");
  }
  EXPECT_EQ(said("dgx-h100", ProductPrecision::fp8_current), "accepted");
  EXPECT_EQ(said("dgx-h100", ProductPrecision::mxfp8),
            "dgx-h100 has no products with a scale for each 32 elements "
            "(processor.mxfp8_over_fp8); ask for --products fp8-current");
}

// A library that was measured on a machine is that machine but for what it says itself.
TEST(OtherLibraries, AreTheMachineButForWhatTheySay) {
  const Platform own = read_platform("frontier");
  for (const char* library : {"pccl", "cray-mpich"}) {
    const Platform other = read_platform(std::string("frontier+") + library);
    EXPECT_EQ(other.name, std::string("frontier+") + library);
    EXPECT_NE(other.library.name, own.library.name);
    EXPECT_EQ(other.library.across.back().bus_bandwidth, own.library.across.back().bus_bandwidth);
    EXPECT_FALSE(other.library.cliff.has_value());
    EXPECT_EQ(other.nodes, own.nodes);
  }
  EXPECT_THROW(read_platform("alps+pccl"), std::runtime_error);
  EXPECT_THROW(read_platform("frontier+nccl"), std::runtime_error);
}

}  // namespace
}  // namespace fourfold::tests
