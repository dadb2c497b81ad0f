// What fourfold bench prints of any numbers, in a golden text, and what it measures with: sizes,
// samples, ranks of values, streams, turns and products.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "bench/kinds/bench_table.hpp"
#include "bench/measure/collective.hpp"
#include "bench/measure/messages.hpp"
#include "bench/measure/product.hpp"
#include "bench/measure/slow_down.hpp"
#include "bench/measure/stream.hpp"
#include "bench/measure/turns.hpp"
#include "engine/cpu/sgemm.hpp"
#include "support/binary_size.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

BenchHeader header(std::int64_t ranks) {
  BenchHeader result{"a processor", "OpenBLAS and oneDNN",
                     "Open MPI",    "commit",
                     ranks,         ranks == 1 ? "0" : "0, 1",
                     0.75,          123.456,
                     12.345,        "timed somehow"};
  return result;
}

TEST(BenchTables, AreTheGoldenOnes) {
  BenchTable table{"kind", "what, of it", {{"rate", ""}, {"% of", "peak"}}, {}, "Notes."};
  std::string text =
      bench_text(header(1), table) + bench_json(header(1), table) + bench_csv(header(1), table);
  // Around each power of ten, of which four digits are shown.
  for (const double value : {1e-7, 9.9994e-7, 1e-6, 1.2345678e-6, 9.9994e-6, 1e-5, 1.23456789e-3,
                             0.99995, 1.0, 9.9996, 10.0, 1234.5678, 12345.678}) {
    table.rows.push_back({fmt::format("of {}", value),
                          {3 * value, value, 2 * value, 5 * value, 4 * value},
                          {value, 1e4 * value},
                          true});
  }
  table.rows.push_back({"no figure, wrong", {0.5}, {NAN, 0.0}, false});
  table.rows.push_back({"two samples", {0.25, 0.75}, {100.0, NAN}, true});
  Sample many;
  for (int i = 0; i < 200; ++i) many.push_back(1e-3 * ((i * 37) % 200 + 1));
  table.rows.push_back({"two hundred samples", many, {99.949, 99.951}, true});
  table.notes.assign(130, 'n');
  table.notes += " and more";
  text += bench_text(header(2), table);
  text += bench_json(header(2), table);
  text += bench_csv(header(2), table);
  expect_golden("bench_tables.txt", text);
}

TEST(Sizes, AreSaidInTheLargestUnitThatTheyReach) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1.5 * (1 << 20)), "1.5 MiB");
  EXPECT_EQ(size_text((1 << 20) - 1), "1024 KiB");
  EXPECT_EQ(size_text(1 << 20), "1 MiB");
  EXPECT_EQ(size_text(std::int64_t{3} << 30), "3 GiB");
  EXPECT_EQ(size_text(std::int64_t{5000} << 30), "5000 GiB");
  for (int shift = 0; shift <= 40; ++shift) {
    const std::int64_t bytes = std::int64_t{1} << shift;
    EXPECT_EQ(size_from_text(std::to_string(bytes)), bytes);
    std::string text = size_text(static_cast<double>(bytes));
    text.erase(text.find(' '), 1);
    EXPECT_EQ(size_from_text(text), bytes) << text;
  }
  EXPECT_THROW(size_from_text("1099511627777"), std::invalid_argument);
}

// Of every sample and share, by sorting.
TEST(Quantiles, AreTheNearestOfTheSortedValues) {
  EXPECT_THROW(median({}), std::invalid_argument);
  std::mt19937 random(3);
  for (std::size_t n = 1; n <= 12; ++n) {
    Sample sample;
    for (std::size_t i = 0; i < n; ++i) sample.push_back(static_cast<double>(random() % 50));
    Sample sorted = sample;
    std::sort(sorted.begin(), sorted.end());
    for (const double share : {0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0}) {
      const auto place =
          static_cast<std::size_t>(std::floor(share * static_cast<double>(n - 1) + 0.5));
      EXPECT_EQ(nearest_rank(sample, share), sorted[place]) << n << " " << share;
    }
    const Summary all = summary(sample);
    EXPECT_EQ(all.min, sorted.front());
    EXPECT_EQ(all.p50, nearest_rank(sample, 0.5));
    EXPECT_EQ(all.p90, nearest_rank(sample, 0.9));
    EXPECT_EQ(all.p99, nearest_rank(sample, 0.99));
    EXPECT_EQ(all.max, sorted.back());
    EXPECT_EQ(all.n, static_cast<std::int64_t>(n));
  }
}

// By its definition: pairs in which the fresh value is larger, ties half, and the variance of all
// orders.
double by_definition(const Sample& fresh, const Sample& before) {
  double pairs = 0.0;
  for (double a : fresh) {
    for (double b : before) pairs += a > b ? 1.0 : a == b ? 0.5 : 0.0;
  }
  Sample all = fresh;
  all.insert(all.end(), before.begin(), before.end());
  double ties = 0.0;
  for (double a : all) {
    const auto equal = static_cast<double>(std::count(all.begin(), all.end(), a));
    ties += equal * equal - 1.0;  // t^3 - t, shared among the t that are equal
  }
  const auto n = static_cast<double>(fresh.size()), m = static_cast<double>(before.size());
  const double variance = n * m / 12.0 * (n + m + 1.0 - ties / ((n + m) * (n + m - 1.0)));
  const double z = (pairs + 0.5 - n * m / 2.0) / std::sqrt(variance);
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

TEST(RankTest, IsWhatItsDefinitionSays) {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    Sample fresh, before;
    const std::size_t n = 2 + random() % 9, m = 2 + random() % 9;
    for (std::size_t k = 0; k < n; ++k) fresh.push_back(static_cast<double>(random() % 12));
    for (std::size_t k = 0; k < m; ++k) before.push_back(static_cast<double>(random() % 14));
    if (*std::max_element(fresh.begin(), fresh.end()) == 0) continue;
    EXPECT_NEAR(chance_of_lower(fresh, before), by_definition(fresh, before), 1e-12);
  }
  EXPECT_EQ(chance_of_lower({1, 1, 1}, {1, 1}), 1.0);
  EXPECT_EQ(chance_of_lower({}, {1, 2}), 1.0);
}

TEST(SlowDown, IsForTheWorkAndTheRanksThatItNames) {
  const std::string words = "product=0.25@2,memory=0.5,product=0.75@10,step=0";
  EXPECT_EQ(repeated_share(words, "product", 2), 0.25);
  EXPECT_EQ(repeated_share(words, "product", 10), 0.75);
  EXPECT_EQ(repeated_share(words, "product", 1), 0.0);
  EXPECT_EQ(repeated_share(words, "memory", 7), 0.5);
  EXPECT_EQ(repeated_share(words, "mem", 7), 0.0);
  EXPECT_EQ(repeated_share(words, "step", 7), 0.0);
  for (const char* wrong :
       {"product", "product=", "product=-0.1", "product=0.1%2", "a=1,b", "=x"}) {
    const std::string said = refusal<std::runtime_error>([&] { repeated_share(wrong, "c", 0); });
    if (std::string(wrong) == "product=") continue;  // which is 0
    EXPECT_NE(said.find("is no WORK=SHARE or WORK=SHARE@RANK"), std::string::npos) << wrong;
  }
}

TEST(Streams, CountEachLoopsBytesAndSeeWhatIsWrong) {
  Stream stream(1 << 12);
  EXPECT_EQ(stream.array_bytes(), 1 << 12);
  for (StreamLoop loop : {StreamLoop::copy, StreamLoop::scale}) {
    EXPECT_EQ(stream.bytes(loop), 2.0 * (1 << 12)) << name(loop);
  }
  for (StreamLoop loop : {StreamLoop::add, StreamLoop::triad}) {
    EXPECT_EQ(stream.bytes(loop), 3.0 * (1 << 12)) << name(loop);
  }
  EXPECT_TRUE(stream.right());
  // In any order, and with parts done again.
  for (StreamLoop loop : {StreamLoop::triad, StreamLoop::copy, StreamLoop::add, StreamLoop::scale,
                          StreamLoop::triad, StreamLoop::add}) {
    stream.seconds(loop, 0.3);
    EXPECT_TRUE(stream.right()) << name(loop);
  }
}

TEST(Streams, OutgrowTheLastCacheFourTimesOver) {
  const std::int64_t cache = last_cache_bytes();
  EXPECT_GE(cache, 0);
  for (std::int64_t ranks = 1; ranks <= 256; ranks *= 2) {
    const std::int64_t bytes = stream_array_bytes(ranks);
    EXPECT_EQ(bytes % 64, 0);
    EXPECT_GE(bytes, 16 << 20);
    EXPECT_LE(bytes, 256 << 20);
    if (bytes > 16 << 20 && bytes < 256 << 20) {
      EXPECT_LE(std::abs(3 * ranks * bytes - 4 * cache), 3 * ranks * 64) << ranks;
    }
    if (bytes == 16 << 20) {
      EXPECT_GE(3 * ranks * bytes, 4 * cache - 3 * ranks);
    }
  }
  EXPECT_EQ(stream_array_bytes(0), stream_array_bytes(1));
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
        EXPECT_EQ(run.flops(), 2.0 * 40 * 56 * 72);
        EXPECT_EQ(run.times_in(0.0), 1);
        for (const double share : {0.001, 0.5, 1.0}) {
          run.repeat(share);
          run.run();
          EXPECT_LE(run.error(), 1.0) << product.str() << " " << share;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
