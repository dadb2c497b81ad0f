// Kernel times: both sides of the roofline, the table of matrix products, layouts,
// launches; long because each kind of kernel has its own closed form.
#include "sim/cost/kernel_time.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "platforms/vector_rates.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

// 100 Tflop/s at 1,000, 200 Tflop/s at 8,000; 1 TB/s; nothing else costs.
Processor processor() {
  Processor p;
  p.gemm = {{1000, {100e12}}, {8000, {200e12}}};
  p.memory_bandwidth = {1e12};
  p.attention_forward = {80e12};
  p.attention_backward = {40e12};
  return p;
}

// One operation with operands of given local extents, bf16.
struct Kernel {
  OpClass op;
  LocalSizes sizes;

  explicit Kernel(OpKind kind) { op.kind = kind; }

  std::int32_t matrix(std::int64_t rows, std::int64_t cols) {
    sizes.rows.push_back(rows);
    sizes.cols.push_back(cols);
    sizes.elements.push_back(rows * cols);
    sizes.bytes.push_back(number(2 * rows * cols));
    sizes.width.push_back(2);
    return static_cast<std::int32_t>(sizes.rows.size() - 1);
  }
};

// Local m x k times k x n, stored as the form wants them.
Kernel product(GemmForm form, std::int64_t m, std::int64_t k, std::int64_t n) {
  Kernel kernel(OpKind::gemm);
  kernel.op.form = form;
  kernel.op.shape_a = form == GemmForm::tn ? kernel.matrix(k, m) : kernel.matrix(m, k);
  kernel.op.shape_b = form == GemmForm::nt ? kernel.matrix(n, k) : kernel.matrix(k, n);
  kernel.op.reads = {kernel.op.shape_a, kernel.op.shape_b};
  kernel.op.writes = {kernel.matrix(m, n)};
  return kernel;
}

// A function of sequences of so many tokens, of which this is the first matrix.
Kernel applied(const Function& function, std::int64_t sequence, std::int64_t rows,
               std::int64_t cols) {
  Kernel kernel(OpKind::apply);
  kernel.op.function = &function;
  kernel.op.attributes.sequence = sequence;
  kernel.op.shape_a = kernel.matrix(rows, cols);
  return kernel;
}

// On the median device of a machine of such processors.
double seconds(const Kernel& kernel, const Processor& p, const Software& software = {}) {
  Platform platform;
  platform.processor = p;
  platform.software = software;
  return kernel_time_on(kernel.op, kernel.sizes, platform, 1.0).value;
}

// By the geometric mean: 2,000 is one of three doublings from 1,000 to 8,000.
TEST(GemmRate, IsTheTableBetweenItsPointsByLogarithmsAndFlatBeyond) {
  const Processor p = processor();

  EXPECT_DOUBLE_EQ(gemm_rate(p.gemm, 1000, 1000, 1000).value, 100e12);
  EXPECT_DOUBLE_EQ(gemm_rate(p.gemm, 8000, 8000, 8000).value, 200e12);
  EXPECT_DOUBLE_EQ(gemm_rate(p.gemm, 10, 10, 10).value, 100e12);
  EXPECT_DOUBLE_EQ(gemm_rate(p.gemm, 1e5, 1e5, 1e5).value, 200e12);
  EXPECT_NEAR(gemm_rate(p.gemm, 1000, 2000, 4000).value, 100e12 + 100e12 / 3, 1e3);
}

TEST(GemmRate, OfAGridIsMeasuredAtItsPointsBetweenThemByLogarithmsAndFlatBeyond) {
  // Twice as fast for each m; k does nothing.
  const ProductGrid grid{{16, 64}, {16}, {16, 64}, {{1e12}, {2e12}, {4e12}, {8e12}}};

  EXPECT_NEAR(gemm_rate(grid, 16, 16, 64).value, 2e12, 1e3);
  EXPECT_NEAR(gemm_rate(grid, 64, 99, 64).value, 8e12, 1e3);
  EXPECT_NEAR(gemm_rate(grid, 32, 16, 16).value, 2e12, 1e3);
  EXPECT_NEAR(gemm_rate(grid, 32, 16, 32).value, std::sqrt(8.0) * 1e12, 1e3);
  EXPECT_NEAR(gemm_rate(grid, 1, 1, 1e6).value, 2e12, 1e3);
}

// What is no product goes at the machine's fp32 rate, special functions at a sixteenth of it; each
// class has units of its own, so that the longest counts; fp32 operands make none of it slower.
TEST(KernelTime, OfAFunctionIsThatOfItsLongestClass) {
  static constexpr Function vector{.name = "scan",
                                   .arithmetic = [](double rows, double, const Attributes&) {
                                     return Arithmetic{0.0, 1e9 * rows};
                                   }};
  static constexpr Function special{.name = "route",
                                    .arithmetic = [](double rows, double, const Attributes&) {
                                      return Arithmetic{0.0, 1e9 * rows, 1e9 * rows};
                                    }};
  static constexpr Function all{.name = "expert",
                                .arithmetic = [](double rows, double, const Attributes&) {
                                  return Arithmetic{1e15 * rows, 1e9 * rows, 1e9 * rows};
                                }};
  const auto time = [](const Function& function, const Platform& platform, double width,
                       OpKind kind = OpKind::map) {
    Kernel kernel(kind);
    kernel.op.function = &function;
    kernel.op.shape_a = kernel.matrix(1000, 1);
    kernel.sizes.bytes[0] = 0.0;
    kernel.sizes.width[0] = width;
    kernel.op.reads = kernel.op.writes = {kernel.op.shape_a};
    return kernel_time(kernel.op, kernel.sizes, platform, 1).value;
  };
  for (const std::string& name : known_platforms()) {
    Platform platform = read_platform(name);
    platform.processor.launch_overhead = platform.software.dispatch = {};
    const std::optional<FlopsPerSecond> rate = fp32_products(platform);
    if (!rate) {
      EXPECT_EQ(refusal([&] { time(vector, platform, 2); }),
                "scan computes outside products, and " + name +
                    " does not say how fast: it needs processor.fp32_Tflops");
      continue;
    }
    const double longer = slowdown(platform.node, 1);
    const double of_vector = 1e12 / rate->value * longer;
    EXPECT_NEAR(time(vector, platform, 2) / of_vector, 1.0, 1e-9) << name;
    EXPECT_NEAR(time(vector, platform, 4) / of_vector, 1.0, 1e-9) << name;
    EXPECT_NEAR(time(special, platform, 2) / (16 * of_vector), 1.0, 1e-9) << name;
    for (const OpKind kind : {OpKind::map, OpKind::reduce}) {
      EXPECT_NEAR(time(all, platform, 2, kind) *
                      gemm_rate(platform.processor.gemm, 1e18, 1, 1).value / (1e18 * longer),
                  1.0, 1e-9)
          << name;
    }
  }
}

TEST(KernelTime, OfAProductIsByTheGridOfItsFormAndWithoutPenalty) {
  Processor p = processor();
  p.layout_penalty_tn = 7.0;
  p.products[2] = {{100, 1000}, {100}, {100}, {{1e12}, {10e12}}};

  // m is what is left of the first factor, which is stored transposed.
  EXPECT_NEAR(seconds(product(GemmForm::tn, 1000, 100, 100), p), 2e7 / 10e12, 1e-12);
  EXPECT_NEAR(seconds(product(GemmForm::tn, 100, 1000, 100), p), 2e7 / 1e12, 1e-12);
  EXPECT_DOUBLE_EQ(seconds(product(GemmForm::nn, 1000, 1000, 1000), p), 2e9 / 100e12);
}

TEST(KernelTime, GrowsWhereDevicesShareCores) {
  Platform platform;
  platform.processor = processor();
  platform.node.crowding = {{1, 0.9}, {2, 1.0}, {4, 2.0}};
  const Kernel nn = product(GemmForm::nn, 1000, 1000, 1000);
  const double alone = seconds(nn, platform.processor);

  EXPECT_DOUBLE_EQ(kernel_time(nn.op, nn.sizes, platform, 1).value, 0.9 * alone);
  EXPECT_DOUBLE_EQ(kernel_time(nn.op, nn.sizes, platform, 3).value, 2.0 * alone);
  EXPECT_DOUBLE_EQ(kernel_time(nn.op, nn.sizes, platform, 99).value, 2.0 * alone);
}

TEST(KernelTime, OfAProductIsItsFlopsOrItsBytesWhicheverTakesLonger) {
  const Processor p = processor();

  // Square: 2 s^3 flops against 6 s^2 bytes. A column: 2 m k flops against 2 m k bytes and more.
  EXPECT_DOUBLE_EQ(seconds(product(GemmForm::nn, 8000, 8000, 8000), p),
                   2 * 8e3 * 8e3 * 8e3 / 200e12);
  const double bytes = 2.0 * (4096 * 4096 + 4096 + 4096);
  EXPECT_DOUBLE_EQ(seconds(product(GemmForm::nn, 4096, 4096, 1), p), bytes / 1e12);
}

// A software with tuned products has none of the penalties.
TEST(KernelTime, OfEveryFormIsOfTheSameFlopsAndItsOwnPenalty) {
  Processor p = processor();
  p.layout_penalty_nt = 1.5;
  p.layout_penalty_tn = 2.0;
  Software tuned;
  tuned.tuned_products = true;
  const double nn = seconds(product(GemmForm::nn, 3000, 5000, 7000), p);

  EXPECT_DOUBLE_EQ(seconds(product(GemmForm::nt, 3000, 5000, 7000), p), 1.5 * nn);
  EXPECT_DOUBLE_EQ(seconds(product(GemmForm::tn, 3000, 5000, 7000), p), 2.0 * nn);
  EXPECT_DOUBLE_EQ(seconds(product(GemmForm::tn, 3000, 5000, 7000), p, tuned), nn);
}

// But for a dip: a rate linear between entries far apart grows faster than the work for a while.
// Alps dips by 6 % between its extrapolated entries at 800 and 1,600, the others nowhere.
TEST(KernelTime, OfAProductGrowsWithEveryExtent) {
  for (const auto& [name, dip] :
       {std::pair{"perlmutter", 0.0}, {"frontier", 0.0}, {"alps", 0.06}}) {
    const Processor p = read_platform(name).processor;
    for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
      double longest = 0;
      // Rows of whole loads: others are slower.
      for (std::int64_t extent = 16; extent < 40'000; extent += extent / 64 * 8 + 8) {
        const double whole = seconds(product(form, extent, extent, extent), p);
        EXPECT_GT(whole, longest * (1 - dip)) << name << " " << extent;
        longest = std::max(longest, whole);
        EXPECT_GE(seconds(product(form, 2 * extent, extent, extent), p), whole) << name;
        EXPECT_GE(seconds(product(form, extent, 2 * extent, extent), p), whole) << name;
        EXPECT_GE(seconds(product(form, extent, extent, 2 * extent), p), whole) << name;
      }
    }
  }
}

TEST(KernelTime, OfMapsIsMovingEveryOperandOnceAndOfALookupItsRowsNotItsTable) {
  Kernel map(OpKind::map);
  map.op.reads = {map.matrix(1000, 1000), map.matrix(1000, 1)};
  map.op.writes = {map.matrix(1000, 1000)};
  Kernel lookup(OpKind::lookup);
  lookup.op.function = &functions::lookup;
  lookup.op.reads = {lookup.matrix(50'000, 1000), lookup.matrix(100, 1)};
  lookup.op.writes = {lookup.matrix(100, 1000)};

  EXPECT_DOUBLE_EQ(seconds(map, processor()), 2.0 * (2 * 1000 * 1000 + 1000) / 1e12);
  EXPECT_DOUBLE_EQ(seconds(lookup, processor()), 2 * 2.0 * 100 * 1000 / 1e12);
}

TEST(KernelTime, OfAttentionIsALaunchAndItsCausalFlopsAtItsOwnRate) {
  const std::int64_t s = 2048, tokens = 4 * s, h = 4096;
  const Kernel forward = applied(functions::attention, s, tokens, 3 * h);
  const Kernel backward = applied(functions::attention_backward, s, tokens, h);

  Processor p = processor();
  p.launch_overhead = {5e-6};

  const double flops = number(2 * (s + 1)) * number(tokens * h);
  EXPECT_DOUBLE_EQ(seconds(forward, p), flops / 80e12 + 5e-6);
  EXPECT_DOUBLE_EQ(seconds(backward, p), 2.5 * flops / 40e12 + 5e-6);
}

// Scores of 4 sequences: 2 s tokens h flops as one product of so much work, or a third of QKV twice
// and the scores, in bf16.
TEST(KernelTime, OfAProductOfHeadsIsThatOfOneProductOfAsMuchWorkOrItsBytes) {
  const std::int64_t s = 2000, tokens = 4 * s, h = 4000, heads = 8;
  Kernel scores = applied(functions::scores, s, tokens, 3 * h);
  scores.op.reads = {scores.op.shape_a};
  scores.op.writes = {scores.matrix(tokens, heads * s)};
  Processor slow = processor(), fast = processor();
  fast.gemm = {{1000, {1e18}}};

  const double flops = 2 * number(s) * number(tokens * h);
  const double edge = std::cbrt(flops / 2);
  const double bytes = 2 * number(2 * tokens * h + tokens * heads * s);
  EXPECT_DOUBLE_EQ(seconds(scores, slow), flops / gemm_rate(slow.gemm, edge, edge, edge).value);
  EXPECT_DOUBLE_EQ(seconds(scores, fast), bytes / 1e12);
  slow.layout_penalty_nt = 1.5;
  EXPECT_DOUBLE_EQ(seconds(scores, slow),
                   1.5 * flops / gemm_rate(slow.gemm, edge, edge, edge).value);
}

// Probabilities times values, where 4 heads of queries share each: heads of 96 columns, however
// many have values of their own.
TEST(KernelTime, OfAProductWithSharedValuesIsThatOfOneWithAsManyValuesAsQueries) {
  const std::int64_t s = 2000, tokens = 4 * s, h = 768, heads = 8;
  Processor p = processor();
  p.tiles = ProductTiles{100, 128, 64};
  p.memory_bandwidth = {1e18};
  const auto context = [&](std::int64_t group) {
    Kernel kernel = applied(functions::context, s, tokens, h + 2 * h / group);
    kernel.op.attributes.group = group;
    kernel.op.reads = {kernel.op.shape_a, kernel.matrix(tokens, heads * s)};
    kernel.op.writes = {kernel.matrix(tokens, h)};
    return seconds(kernel, p);
  };

  EXPECT_DOUBLE_EQ(context(4), context(1));
}

// QKV's gradient is three of them, two of which read their pairs transposed.
TEST(KernelTime, OfSeveralProductsOfHeadsIsTheirSum) {
  const std::int64_t s = 2000, tokens = s, h = 4000, heads = 8;
  Kernel backward = applied(functions::qkv_backward, s, tokens, h);
  backward.op.reads = {backward.op.shape_a, backward.matrix(tokens, 3 * h),
                       backward.matrix(tokens, heads * s), backward.matrix(tokens, heads * s)};
  backward.op.writes = {backward.matrix(tokens, 3 * h)};
  Processor p = processor();
  const double flops_of_one = 2 * number(s) * number(tokens * h);
  const double edge = std::cbrt(flops_of_one / 2);
  const double one = flops_of_one / gemm_rate(p.gemm, edge, edge, edge).value;
  p.layout_penalty_tn = 2;
  p.launch_overhead = {5e-6};

  EXPECT_NEAR(seconds(backward, p), (1 + 2 + 2) * one + 3 * 5e-6, 1e-12);
}

TEST(KernelTime, ALaunchComesOnTopButViewsTakeNoTime) {
  Processor p = processor();
  const Kernel small = product(GemmForm::nn, 64, 64, 64);
  const double without = seconds(small, p);

  p.launch_overhead = {5e-6};

  EXPECT_DOUBLE_EQ(seconds(small, p), without + 5e-6);
  EXPECT_EQ(seconds(Kernel(OpKind::pack), p), 0);
  EXPECT_EQ(seconds(Kernel(OpKind::unpack), p), 0);
}

TEST(KernelTime, StateOnTheHostComesAndGoesBucketByBucket) {
  Processor p = processor();
  Kernel update(OpKind::update);
  update.op.shape_a = update.matrix(1, 1000);
  for (int kind = 0; kind < 3; ++kind) {
    update.op.fetched.push_back(update.matrix(1, 2000));  // 4,000 bytes
  }
  const double on_device = seconds(update, p);
  p.host_link = BytesPerSecond{1e6};
  p.launch_overhead = {1e-3};

  update.op.bucket = update.matrix(1, 2400);

  Kernel copy(OpKind::to_host);
  copy.op.reads = copy.op.writes = {copy.matrix(1000, 1)};

  EXPECT_EQ(op_traffic(copy.op, copy.sizes).value, 2000);
  // Three buckets, each copied in, updated and copied out.
  EXPECT_DOUBLE_EQ(seconds(update, p), on_device + 2 * 12000 / 1e6 + 9 * 1e-3);
}

// A map of one million elements, as a software that has these kernels for it runs it.
double mapped(const Function& function, const std::vector<std::string>& kernels,
              const Software& other = {}) {
  Kernel map(OpKind::map);
  map.op.function = &function;
  map.op.shape_a = map.matrix(1000, 1000);
  map.op.reads = {map.op.shape_a};
  map.op.writes = {map.matrix(1000, 1000)};
  Software software = other;
  MapKernels& all = software.maps[&function];
  for (const std::string& written : kernels) {
    for (const MapKernel& kernel : map_kernels(written)) all.push_back(kernel);
  }
  return seconds(map, processor(), software);
}

// RMSNorm, operation by operation: float 6, square 8, mean 4, times the root 8, to bf16 6, times
// the weight 4 bytes; GELU behind its bias 4 and 4. As published/eager_kernels.csv counts them.
TEST(KernelTime, OfEagerMapsIsTheSumOfTheirKernels) {
  EXPECT_DOUBLE_EQ(
      mapped(functions::layer_norm, {"read 2 write 4", "read 4 write 4", "read 4", "read 4 write 4",
                                     "read 4 write 2", "read 2 write 2"}),
      36e6 / 1e12);
  EXPECT_DOUBLE_EQ(mapped(functions::bias_gelu, {"2 x read 2 write 2"}), 8e6 / 1e12);
  EXPECT_DOUBLE_EQ(mapped(functions::row_sum, {}), 0);
  EXPECT_DOUBLE_EQ(mapped(functions::bias, {"read 2 write 2 of 1/4"}), 1e6 / 1e12);
}

// A gradient of 16 bits that is added to an fp32 sum, and to another one.
TEST(KernelTime, OfAGradientSumIsByKernelsOfItsOwn) {
  Software software;
  software.others["gradient_sum"] = map_kernels("read 4 2 write 4");
  software.others["add"] = map_kernels("read 2 2 write 2");
  Kernel add(OpKind::add);
  add.op.shape_a = add.matrix(1000, 1000);
  add.op.reads = {add.op.shape_a, add.matrix(1000, 1000)};
  add.op.writes = {add.op.shape_a};

  EXPECT_DOUBLE_EQ(seconds(add, processor(), software), 6e6 / 1e12);
  add.sizes.width[0] = 4;
  add.sizes.bytes[0] *= 2;
  EXPECT_DOUBLE_EQ(seconds(add, processor(), software), 10e6 / 1e12);
}

TEST(KernelTime, IsNoLessThanTheHostNeedsToDispatchEachKernel) {
  Software slow_host;
  slow_host.dispatch = {6e-6};

  EXPECT_DOUBLE_EQ(mapped(functions::bias, {"read 2 write 2", "read 4 write 4"}, slow_host),
                   6e-6 + 8e-6);
  const Kernel small = product(GemmForm::nn, 64, 64, 64);
  EXPECT_DOUBLE_EQ(seconds(small, processor(), slow_host), 6e-6);
}

TEST(KernelTime, OfAttentionIsByTheVersionThatTheSoftwareHasAndTheLengthOfTheSequence) {
  Processor p = processor();
  p.flash_1 = 0.5;
  Software software;
  software.attention = AttentionSoftware::flash_1;
  OpClass forward, backward;
  forward.function = &functions::attention;
  backward.function = &functions::attention_backward;

  EXPECT_DOUBLE_EQ(attention_rate(p, software, forward).value, 40e12);
  EXPECT_DOUBLE_EQ(attention_rate(p, software, backward).value, 20e12);
  software.attention = AttentionSoftware::flash_3;  // of which nothing is known
  EXPECT_DOUBLE_EQ(attention_rate(p, software, forward).value, 80e12);
  p.attention = {{64, {10e12}, {5e12}}, {256, {30e12}, {15e12}}};
  forward.attributes.sequence = 128;
  EXPECT_DOUBLE_EQ(attention_rate(p, {}, forward).value, 20e12);
  forward.attributes.sequence = 4096;
  EXPECT_DOUBLE_EQ(attention_rate(p, {}, forward).value, 30e12);
}

// 100 units, tiles of 128, a start of 64 sums; the largest rate is 200 Tflop/s.
TEST(KernelTime, OfHeadsDependsOnHowTheyFitTiles) {
  Processor p = processor();
  p.tiles = ProductTiles{100, 128, 64};

  EXPECT_DOUBLE_EQ(batched_rate(p, {100, 128, 192, 128}).value, 150e12);
  EXPECT_DOUBLE_EQ(batched_rate(p, {101, 128, 192, 128}).value, 150e12 * 101 / 200);
  EXPECT_DOUBLE_EQ(batched_rate(p, {100, 128, 192, 96}).value, 150e12 * 96 / 128);
  // Rows of 108 elements are not whole multiples of 16 bytes, whichever extent they are.
  EXPECT_DOUBLE_EQ(batched_rate(p, {100, 128, 192, 108}).value, 75e12 * 108 / 128);
  EXPECT_DOUBLE_EQ(batched_rate(p, {100, 108, 192, 128}).value, 75e12 * 108 / 128);
  EXPECT_DOUBLE_EQ(batched_rate(p, {100, 128, 196, 128}).value, 100e12 * 196 / (196 + 64));
}

// 50,257 logits are the sum of a product whose rows begin anywhere; 50,304 are not.
TEST(GemmRate, IsHalfWhereRowsAreNoWholeNumberOfLoads) {
  Processor p = processor();
  p.memory_bandwidth = {1e15};
  const auto head = [](std::int64_t vocabulary) {
    return product(GemmForm::nn, 4096, vocabulary, 1024);
  };
  const double by_table = seconds(head(50'257), p);
  p.tiles = ProductTiles{108, 128, 64};

  EXPECT_DOUBLE_EQ(seconds(head(50'257), p), 2.0 * by_table);
  EXPECT_LT(seconds(head(50'304), p), 0.51 * seconds(head(50'257), p));
}

TEST(Fp32, IsAsFastAsTheMachineSays) {
  for (const std::string& name : known_platforms()) {
    const Platform platform = read_platform(name);
    const bool synthetic = platform.title.starts_with("Synthetic");
    Kernel kernel = product(GemmForm::nn, 8192, 8192, 8192);
    const double flops = 2.0 * 8192.0 * 8192.0 * 8192.0;
    const double narrow = kernel_time(kernel.op, kernel.sizes, platform, 1).value;
    for (double& width : kernel.sizes.width) width = 4;
    const double wide = kernel_time(kernel.op, kernel.sizes, platform, 1).value;

    EXPECT_EQ(fp32_rate(platform) < 1.0, !synthetic) << name;
    EXPECT_LE(flops / wide, 164e12 + (synthetic ? 1e15 : 0.0)) << name;
    EXPECT_NEAR(wide * fp32_rate(platform) / narrow, 1.0, 0.01) << name;
    if (synthetic) continue;
    // All of a device at half its speed, and what is measured in 16 bits alone.
    Kernel attention = applied(functions::attention, 4096, 4096, 3 * 4096);
    attention.op.reads = {attention.op.shape_a};
    for (double& width : attention.sizes.width) width = 4;
    for (const Kernel& one : {kernel, attention}) {
      const auto times_as_long = [&](const char* key) {
        return kernel_time(one.op, one.sizes, read_platform(name, {{key, 0.5}}), 1) /
               kernel_time(one.op, one.sizes, platform, 1);
      };
      EXPECT_NEAR(times_as_long("devices"), 2.0, 1e-9) << name;
      EXPECT_NEAR(times_as_long("processor.gemm.rate_Tflops"), 1.0, 1e-9) << name;
    }
  }
  const Platform twice = read_platform("polaris", {{"processor.fp32_Tflops", 2.0}});
  EXPECT_DOUBLE_EQ(fp32_rate(twice), 2.0 * fp32_rate(read_platform("polaris")));
}

// Expected largest values of normal ones: Teichroew 1956, Table I, for 10 and 20.
TEST(SlowestDevice, IsAsManyDeviationsSlowerAsTheLargestOfNormalValues) {
  Processor p = processor();
  p.spread = 0.01;

  EXPECT_DOUBLE_EQ(slowest(p, 1), 1.0);
  EXPECT_NEAR(slowest(p, 10), 1.0153875, 1e-4);
  EXPECT_NEAR(slowest(p, 20), 1.0186748, 1e-4);
  EXPECT_NEAR(slowest(p, 32'768), 1.041, 1e-3);
}

TEST(SlowestDevice, HoldsUpProductsAndNotWhatMovesBytes) {
  Platform platform;
  platform.processor = processor();
  const Kernel gemm = product(GemmForm::nn, 4000, 4000, 4000);
  Kernel map(OpKind::add);
  map.op.reads = {map.matrix(4000, 4000), map.matrix(4000, 4000)};
  map.op.writes = {map.op.reads[0]};
  const auto time = [&platform](const Kernel& kernel) {
    return kernel_time(kernel.op, kernel.sizes, platform, 512).value;
  };
  const double product_alike = time(gemm), map_alike = time(map);

  platform.processor.spread = 0.02;

  EXPECT_NEAR(time(gemm) / product_alike, slowest(platform.processor, 512), 1e-12);
  EXPECT_GT(time(gemm), 1.05 * product_alike);
  EXPECT_DOUBLE_EQ(time(map), map_alike);
}

}  // namespace
}  // namespace fourfold::tests
