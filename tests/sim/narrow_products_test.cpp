// Products of 8 bits: what they save and what they cost, and that machines without them refuse.
#include <gtest/gtest.h>

#include <stdexcept>

#include "sim/estimate/estimate.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

constexpr ProductPrecision narrow[]{ProductPrecision::fp8_delayed, ProductPrecision::fp8_current,
                                    ProductPrecision::mxfp8};

// Eight layers on 16 devices of two nodes, tokens cut by x between blocks.
Point wide(ProductPrecision products) {
  Point point;
  point.platform = "dgx-b200";
  point.model = {"wide", 8, 8192, 64, 4096, 51'200};
  point.grid = ProcessGrid(4, 1, 2, 2);
  point.global_batch = 16;
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
  const auto refusal = [](const char* platform, ProductPrecision products) -> std::string {
    Point point = wide(products);
    try {
      estimate_step(point, read_platform(platform));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  for (const ProductPrecision products : narrow) {
    EXPECT_EQ(refusal("frontier", products),
              "frontier has no products of 8 bits: it does not say their rates "
              "(processor.gemm_fp8); ask for --products stored");
  }
  EXPECT_EQ(refusal("dgx-h100", ProductPrecision::fp8_current), "");
  EXPECT_EQ(refusal("dgx-h100", ProductPrecision::mxfp8),
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
