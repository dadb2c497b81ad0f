// What `fourfold bench` measures with: sizes, partners, turns, products.
#include "bench/kinds/bench_table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/measure/collective.hpp"
#include "bench/measure/messages.hpp"
#include "bench/measure/product.hpp"
#include "bench/measure/turns.hpp"
#include "engine/cpu/sgemm.hpp"

namespace fourfold::tests {
namespace {

TEST(Sizes, AreReadAndSaidInPowersOfTwo) {
  EXPECT_EQ(size_from_text("64KiB"), 65'536);
  EXPECT_EQ(size_from_text("4M"), 4 << 20);
  EXPECT_EQ(size_from_text("8"), 8);
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1024), "1 KiB");
  EXPECT_EQ(size_text(65'536), "64 KiB");
  EXPECT_EQ(size_text(1.5 * (1 << 20)), "1.5 MiB");
  for (const char* wrong : {"", "0", "-1", "4MB", "x", "99999999999G", "1e6"}) {
    EXPECT_THROW(size_from_text(wrong), std::invalid_argument) << wrong;
  }
}

TEST(Overlap, IsWhatOsuDefines) {
  EXPECT_DOUBLE_EQ(overlap_percent(1.0, 1.0, 1.0), 100.0);
  EXPECT_DOUBLE_EQ(overlap_percent(1.0, 1.0, 2.0), 0.0);
  EXPECT_DOUBLE_EQ(overlap_percent(1.0, 1.0, 1.25), 75.0);
  EXPECT_DOUBLE_EQ(overlap_percent(1.0, 1.0, 3.0), 0.0);
}

TEST(Partners, LieHalfTheRanksApartAndAnOddOneOutIsAlone) {
  EXPECT_EQ(partner_of(0, 2), 1);
  EXPECT_EQ(partner_of(1, 4), 3);
  EXPECT_EQ(partner_of(3, 4), 1);
  EXPECT_EQ(partner_of(4, 5), 4);
  EXPECT_EQ(partner_of(0, 1), 0);
}

TEST(Turns, TakeEachInEveryRoundAndLeaveWarmUpsOut) {
  std::string order;
  const std::vector<Sample> samples = take_turns({[&] {
                                                    order += 'a';
                                                    return 1.0;
                                                  },
                                                  [&] {
                                                    order += 'b';
                                                    return 2.0;
                                                  }},
                                                 {.rounds = 3, .warm_ups = 1});
  EXPECT_EQ(order, "abababab");
  EXPECT_EQ(samples, (std::vector<Sample>{{1, 1, 1}, {2, 2, 2}}));
}

TEST(Products, AreRightInEveryFormLibraryAndPrecision) {
  use_one_thread();
  for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
    for (Precision precision : {Precision::fp32, Precision::bf16}) {
      const Product product{form, 40, 56, 72, precision, precision, precision};
      for (const GemmKernel& kernel : candidates(product)) {
        ProductRun run(product, kernel);
        EXPECT_LE(run.error(), 1.0) << product.str() << ", " << text_of(kernel);
        EXPECT_GT(run.error(), 1e-9) << "rounding leaves something";
        run.repeat(0.1);
        run.run();
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
