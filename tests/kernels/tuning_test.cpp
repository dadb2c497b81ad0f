// Products of several tiles in every library and form against the reference; the list of a
// program's products; and tuning, which picks the fastest of what it timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "engine/cpu/tune.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "engine/reference/matrix.hpp"
#include "tests/kernels/blocks.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

struct Extents {
  std::int64_t m, n, k;
};

class EveryKernel
    : public testing::TestWithParam<std::tuple<Library, GemmForm, GemmForm, Precision>> {};

// 530 rows and 1,100 columns are whole tiles and a rest; 2,100 are more than is contracted at once
// where an operand has to be moved, once for a lone tile and once for two rows of them.
TEST_P(EveryKernel, AgreesWithTheReferenceOnSeveralTiles) {
  const auto [library, form, recorded, precision] = GetParam();
  for (const Extents& e :
       {Extents{530, 1100, 19}, Extents{5, 3, 7}, Extents{25, 18, 2100}, Extents{520, 6, 2100}}) {
    const bool tn = recorded == GemmForm::tn, nt = recorded == GemmForm::nt;
    std::mt19937 random(11);
    Block a(tn ? e.k : e.m, tn ? e.m : e.k, precision);
    Block b(nt ? e.n : e.k, nt ? e.k : e.n, precision);
    Block out(e.m, e.n, precision), paced(e.m, e.n, precision);
    fill(a, random);
    fill(b, random);
    Scratch scratch;
    int calls = 0;

    multiply({recorded, a.tensor(), b.tensor(), out.tensor()}, {library, form}, scratch, {});
    multiply({recorded, a.tensor(), b.tensor(), paced.tensor()}, {library, form}, scratch,
             [&calls] { ++calls; });

    const Matrix<double> exact_a = a.numbers<double>(), exact_b = b.numbers<double>();
    Matrix<double> expected(e.m, e.n);
    reference::gemm<double>(recorded, exact_a.view(), exact_b.view(), expected.view());
    const double rounding = precision == Precision::bf16 ? 1.0 / 256 : 0.0;
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const double x = expected.values[static_cast<std::size_t>(i)];
      ASSERT_NEAR(out.get(i), x, 6e-7 * std::sqrt(e.k) * 8 + rounding * std::abs(x))
          << "element " << i;
      ASSERT_EQ(out.get(i), paced.get(i));
    }
    const bool moves = form != recorded || precision == Precision::bf16;
    // An extent is cut into parts of at least 1,024, a panel that is moved (2,048) likewise.
    const auto cuts = [](std::int64_t k) { return std::max<std::int64_t>(1, k / 1024); };
    const std::int64_t steps = moves && e.k > 2048 ? cuts(2048) + cuts(e.k - 2048) : cuts(e.k);
    EXPECT_EQ(calls, ((e.m + 511) / 512) * ((e.n + 511) / 512) * steps);
  }
}

std::string named(const testing::TestParamInfo<EveryKernel::ParamType>& tested) {
  const auto [library, form, recorded, precision] = tested.param;
  return std::string(name(library)) + "_" + name(form) + "_for_" + name(recorded) + "_" +
         name(precision);
}

constexpr std::array every_form{GemmForm::nn, GemmForm::nt, GemmForm::tn};

INSTANTIATE_TEST_SUITE_P(All, EveryKernel,
                         testing::Combine(testing::Values(Library::openblas, Library::onednn),
                                          testing::ValuesIn(every_form),
                                          testing::ValuesIn(every_form),
                                          testing::Values(Precision::fp32, Precision::bf16)),
                         named);

// Arithmetic in bf16: products of two bf16 numbers are exact in fp32, sums are fp32's. 530 rows
// and 1,100 columns are whole tiles and a rest; over 5,000 contracted ones tiles are at their
// smallest.
class InBf16 : public testing::TestWithParam<std::tuple<GemmForm, Precision>> {};

TEST_P(InBf16, AgreesWithTheReferenceOnSeveralTiles) {
  if (!computes_in_bf16()) GTEST_SKIP() << "oneDNN has no bf16 on this processor";
  const auto [form, precision] = GetParam();
  for (const Extents& e : {Extents{530, 1100, 19}, Extents{5, 3, 7}, Extents{150, 300, 5000}}) {
    const bool tn = form == GemmForm::tn, nt = form == GemmForm::nt;
    std::mt19937 random(13);
    Block a(tn ? e.k : e.m, tn ? e.m : e.k, Precision::bf16);
    Block b(nt ? e.n : e.k, nt ? e.k : e.n, Precision::bf16);
    Block out(e.m, e.n, precision), paced(e.m, e.n, precision);
    fill(a, random);
    fill(b, random);
    Scratch scratch;
    GemmKernels kernels;
    const GemmKernel kernel{Library::onednn, form, Precision::bf16};
    int calls = 0;

    kernels.multiply({form, a.tensor(), b.tensor(), out.tensor()}, kernel, scratch, {});
    kernels.multiply({form, a.tensor(), b.tensor(), paced.tensor()}, kernel, scratch,
                     [&calls] { ++calls; });

    const Matrix<double> exact_a = a.numbers<double>(), exact_b = b.numbers<double>();
    Matrix<double> expected(e.m, e.n);
    reference::gemm<double>(form, exact_a.view(), exact_b.view(), expected.view());
    const double rounding = precision == Precision::bf16 ? 1.0 / 256 : 0.0;
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const double x = expected.values[static_cast<std::size_t>(i)];
      ASSERT_NEAR(out.get(i), x, 6e-7 * std::sqrt(e.k) * 8 + rounding * std::abs(x))
          << "element " << i;
      ASSERT_EQ(out.get(i), paced.get(i));
    }
    const std::int64_t edge = e.k == 5000 ? 128 : 512;
    EXPECT_EQ(calls, ((e.m + edge - 1) / edge) * ((e.n + edge - 1) / edge));
    // oneDNN asks for about 2 MiB here, by processor; widened operands would be 4 MiB each.
    EXPECT_LT(scratch.bytes(), 4 << 20);
  }
}

INSTANTIATE_TEST_SUITE_P(All, InBf16,
                         testing::Combine(testing::ValuesIn(every_form),
                                          testing::Values(Precision::fp32, Precision::bf16)),
                         [](const auto& tested) {
                           return std::string(name(std::get<0>(tested.param))) + "_to_" +
                                  name(std::get<1>(tested.param));
                         });

// What is compiled for a tile writes one precision.
TEST(Bf16Products, OfEqualExtentsMayHaveResultsOfEitherPrecision) {
  if (!computes_in_bf16()) GTEST_SKIP() << "oneDNN has no bf16 on this processor";
  std::mt19937 random(17);
  Block a(40, 30, Precision::bf16), b(30, 50, Precision::bf16);
  Block narrow(40, 50, Precision::bf16), wide(40, 50, Precision::fp32);
  fill(a, random);
  fill(b, random);
  Scratch scratch;
  GemmKernels kernels;
  const GemmKernel kernel{Library::onednn, GemmForm::nn, Precision::bf16};

  for (Block* out : {&narrow, &wide, &narrow}) {
    kernels.multiply({GemmForm::nn, a.tensor(), b.tensor(), out->tensor()}, kernel, scratch, {});
  }

  const Matrix<double> exact_a = a.numbers<double>(), exact_b = b.numbers<double>();
  Matrix<double> expected(40, 50);
  reference::gemm<double>(GemmForm::nn, exact_a.view(), exact_b.view(), expected.view());
  for (std::int64_t i = 0; i < wide.size(); ++i) {
    const double x = expected.values[static_cast<std::size_t>(i)];
    ASSERT_NEAR(wide.get(i), x, 4e-5) << "element " << i;
    ASSERT_NEAR(narrow.get(i), x, 4e-5 + std::abs(x) / 256) << "element " << i;
  }
}

// Tiles are kept: one of the same extents lies otherwise in a matrix of other extents. All products
// are done by the same kernels and scratch, each twice, among them some with 512 rows or columns.
TEST(Products, OfOtherExtentsAndFormsFollowOneAnotherInAnyOrder) {
  if (!computes_in_bf16()) GTEST_SKIP() << "oneDNN has no bf16 on this processor";
  const std::vector<Extents> all{{512, 512, 9}, {530, 520, 9}, {540, 512, 9}, {512, 600, 9},
                                 {7, 5, 3},     {3, 5, 7},     {5, 7, 3},     {1, 1, 1}};
  Scratch scratch;
  GemmKernels kernels;
  std::mt19937 random(19);
  for (int round = 0; round < 2; ++round) {
    for (const GemmForm form : every_form) {
      for (const Extents& e : all) {
        const bool tn = form == GemmForm::tn, nt = form == GemmForm::nt;
        Block a(tn ? e.k : e.m, tn ? e.m : e.k, Precision::bf16);
        Block b(nt ? e.n : e.k, nt ? e.k : e.n, Precision::bf16);
        Block native(e.m, e.n, Precision::fp32), widened(e.m, e.n, Precision::fp32);
        fill(a, random);
        fill(b, random);
        const GemmForm other = every_form[random() % 3];

        kernels.multiply({form, a.tensor(), b.tensor(), native.tensor()},
                         {Library::onednn, form, Precision::bf16}, scratch, {});
        kernels.multiply({form, a.tensor(), b.tensor(), widened.tensor()},
                         {Library::openblas, other, Precision::fp32}, scratch, {});

        for (std::int64_t i = 0; i < native.size(); ++i) {
          ASSERT_NEAR(native.get(i), widened.get(i), 2e-5)
              << name(form) << " " << e.m << " x " << e.n << " x " << e.k << " at " << i;
        }
      }
    }
  }
}

std::vector<CountedProduct> odd_products() {
  StepOptions options;
  options.recompute = Recompute::none;
  return products(record_step(odd_model(), options), {2, 1, 1, 1}, 39);
}

// Two layers, hidden 42, x cuts columns: four products forward and eight backward a layer, each
// layer's alike; the head has three.
TEST(Products, AreTheDistinctOnesWithTheirCounts) {
  const std::vector<CountedProduct> all = odd_products();

  std::int64_t count = 0;
  for (const CountedProduct& counted : all) count += counted.count;
  EXPECT_EQ(count, 2 * 12 + 3);
  EXPECT_EQ(all.front().product,
            (Product{GemmForm::nn, 39, 63, 42, Precision::bf16, Precision::bf16, Precision::bf16}));
  EXPECT_EQ(all.front().count, 2);
  EXPECT_EQ(all.front().product.str(), "NN 39 x 63 x 42 bf16 bf16 -> bf16");
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(all[i].product == all[j].product);
  }
}

// Six in fp32, and one in bf16 where both operands are.
TEST(Tuning, KeepsTheFastestOfAllCandidates) {
  std::vector<CountedProduct> all = odd_products();
  all.push_back({{GemmForm::nt, 30, 20, 10, Precision::fp32, Precision::bf16, Precision::fp32}, 1});

  const KernelChoices choices = tuned(all);

  ASSERT_EQ(choices.choices.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const KernelChoice& choice = choices.choices[i];
    EXPECT_EQ(choice.product, all[i].product);
    EXPECT_EQ(choice.count, all[i].count);
    const bool native = all[i].product.a == Precision::bf16 && computes_in_bf16();
    ASSERT_EQ(choice.timings.size(), native ? 7U : 6U);
    const auto fastest = std::min_element(
        choice.timings.begin(), choice.timings.end(),
        [](const KernelTiming& a, const KernelTiming& b) { return a.seconds < b.seconds; });
    for (const KernelTiming& timing : choice.timings) {
      EXPECT_GT(timing.seconds, 0.0);
      EXPECT_TRUE(std::isfinite(timing.seconds)) << "a candidate that was never timed";
    }
    EXPECT_EQ(choice.kernel, fastest->kernel);
  }
}

KernelChoices one_choice(const GemmKernel& kernel) {
  const Product product{GemmForm::nn,   26, 126, 42, Precision::fp32, Precision::fp32,
                        Precision::fp32};
  return {{{product, 4, kernel, {{kernel, 1e-6}}}}};
}

TEST(Choices, InBf16HaveAColumnThatOtherProductsLeaveEmpty) {
  KernelChoices choices = one_choice({Library::openblas, GemmForm::nn});
  const GemmKernel kernel{Library::onednn, GemmForm::nn, Precision::bf16};
  choices.choices.push_back(choices.choices[0]);
  choices.choices[1].kernel = kernel;
  choices.choices[1].timings.push_back({kernel, 5e-7});

  const std::string text = table(choices, 1e12);

  EXPECT_THAT(text, HasSubstr("  OpenBLAS NN  oneDNN bf16  fastest\n"));
  EXPECT_THAT(text, HasSubstr("         28 %               OpenBLAS NN\n"));
  EXPECT_THAT(text, HasSubstr("         28 %         55 %  oneDNN bf16\n"));
}

TEST(Choices, WithoutOneThePrecisionOfTheOperandsDecides) {
  const Product narrow{GemmForm::nt,   300, 300, 300, Precision::bf16, Precision::bf16,
                       Precision::fp32};
  Product wide = narrow;
  wide.a = Precision::fp32;

  EXPECT_EQ(untuned(wide), (GemmKernel{Library::onednn, GemmForm::nt, Precision::fp32}));
  EXPECT_EQ(untuned(narrow).form, GemmForm::nt);
  EXPECT_EQ(untuned(narrow), untuned(narrow)) << "one answer a process";
}

// What prepare() has brought up needs no more memory when it computes.
TEST(Choices, PreparedProductsTakeNoMoreScratch) {
  const Program program = record_step(odd_model(), {});
  TunedBackend backend;
  backend.prepare(products(program, {}, 26));
  const std::int64_t before = backend.scratch_bytes();
  int products = 0;
  for (Case& c : cases_of(program, {odd_model(), {1, 1, 1, 1}, 0, 2, Precision::bf16})) {
    if (c.op.kind != OpKind::gemm) continue;
    backend.compute(c.device, c.op, c.operands(), {});
    ++products;
  }

  EXPECT_GT(products, 3);
  EXPECT_GT(before, 0);
  EXPECT_EQ(backend.scratch_bytes(), before);
}

TEST(Choices, PrintAsATableInShareOfThePeak) {
  const std::string text = table(one_choice({Library::openblas, GemmForm::nt}), 1e12);

  EXPECT_THAT(text, HasSubstr("NN 26 x 126 x 42 fp32 fp32 -> fp32"));
  EXPECT_THAT(text, HasSubstr("28 %"));  // 2 * 26 * 126 * 42 flop in 1 us are 0.275 Tflop/s
  EXPECT_THAT(text, HasSubstr("OpenBLAS NT\n"));
  EXPECT_EQ(table({}, 1e12), "no matrix product has been timed\n");
}

// The choice is felt: a form that transposes first needs scratch, the recorded one in fp32 none.
TEST(Choices, DecideHowTheBackendMultiplies) {
  const Program program = record_step(odd_model(), {});
  for (Case& c : cases_of(program, {odd_model(), {1, 1, 1, 1}, 0, 2, Precision::fp32})) {
    if (c.op.kind != OpKind::gemm) continue;
    TunedBackend plain, transposing;
    plain.set_choices(one_choice({Library::openblas, GemmForm::nn}));
    transposing.set_choices(one_choice({Library::openblas, GemmForm::tn}));

    plain.compute(c.device, c.op, c.operands(), {});
    transposing.compute(c.device, c.op, c.operands(), {});

    EXPECT_EQ(plain.choices().choices.size(), 1U);
    EXPECT_EQ(plain.scratch_bytes(), 0);
    EXPECT_GT(transposing.scratch_bytes(), 0);
    return;
  }
  FAIL() << "the program has no product";
}

// Later choices replace all earlier ones: what has none any more goes untuned.
TEST(Choices, AreForgottenWhereOthersAreSet) {
  const Program program = record_step(odd_model(), {});
  const Product other{GemmForm::nn, 1, 2, 3, Precision::fp32, Precision::fp32, Precision::fp32};
  const GemmKernel kernel{Library::openblas, GemmForm::nn, Precision::fp32};
  for (Case& c : cases_of(program, {odd_model(), {1, 1, 1, 1}, 0, 2, Precision::fp32})) {
    if (c.op.kind != OpKind::gemm) continue;
    TunedBackend backend;
    backend.set_choices(one_choice({Library::openblas, GemmForm::tn}));
    backend.set_choices({{{other, 1, kernel, {{kernel, 1e-6}}}}});

    backend.compute(c.device, c.op, c.operands(), {});

    EXPECT_EQ(backend.scratch_bytes(), 0) << "the recorded form in fp32 needs none";
    return;
  }
  FAIL() << "the program has no product";
}

// Every product of a step is counted, with the extents that its operands have on the grid.
TEST(Products, HaveTheExtentsOfTheirOperandsOnEveryGrid) {
  for (const ProcessGrid& grid :
       {ProcessGrid(1, 1, 1, 1), ProcessGrid(2, 3, 1, 1), ProcessGrid(1, 2, 3, 2)}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      StepOptions options;
      options.precision = precision;
      const Program program = record_step(odd_model(), options);
      std::map<Product, std::int64_t> expected;
      for (const Op& op : program.ops) {
        if (op.kind != OpKind::gemm) continue;
        const auto rows = [&](Id id) { return program[id].shape.local_rows(grid, {78}); };
        const auto cols = [&](Id id) { return program[id].shape.local_cols(grid, {78}); };
        const Id a = op.inputs[0], b = op.inputs[1], out = op.outputs[0];
        ++expected[{op.form, rows(out), cols(out), op.form == GemmForm::tn ? rows(a) : cols(a),
                    program[a].precision, program[b].precision, program[out].precision}];
      }

      const std::vector<CountedProduct> all = products(program, grid, 78);

      EXPECT_EQ(all.size(), expected.size());
      for (const CountedProduct& counted : all) {
        EXPECT_EQ(counted.count, expected.at(counted.product)) << counted.product.str();
        const TensorProduct tensors = tensors_of(counted.product);
        EXPECT_EQ(product_of(tensors), counted.product) << counted.product.str();
        EXPECT_EQ(tensors.a.size(), counted.product.m * counted.product.k);
        EXPECT_EQ(tensors.b.size(), counted.product.k * counted.product.n);
      }
    }
  }
}

// All in one: widths of columns, counts, shares and which one was taken.
TEST(Choices, OfSeveralProductsPrintAsOneTable) {
  const auto timing = [](Library library, GemmForm form, Precision arithmetic, double seconds) {
    return KernelTiming{{library, form, arithmetic}, seconds};
  };
  const Product wide{GemmForm::nt,    4096,           50'304, 12'288, Precision::bf16,
                     Precision::bf16, Precision::fp32};
  const Product tiny{GemmForm::tn, 2, 3, 5, Precision::fp32, Precision::bf16, Precision::bf16};
  const std::vector<KernelTiming> three{
      timing(Library::openblas, GemmForm::nn, Precision::fp32, 2.0),
      timing(Library::onednn, GemmForm::tn, Precision::fp32, 4.0),
      timing(Library::onednn, GemmForm::nt, Precision::bf16, 1.0)};
  const std::vector<KernelTiming> one{
      timing(Library::openblas, GemmForm::nn, Precision::fp32, 60e-12)};

  const std::string text =
      table({{{tiny, 12345, one[0].kernel, one}, {wide, 1, three[2].kernel, three}}}, 1e13);

  EXPECT_EQ(text,
            "product (m x n x k)                              count  OpenBLAS NN  oneDNN TN    "
            "oneDNN bf16  fastest\n"
            "TN 2 x 3 x 5 fp32 bf16 -> bf16                   12345         10 %"
            "                            OpenBLAS NN\n"
            "NT 4096 x 50304 x 12288 bf16 bf16 -> fp32            1         25 %         13 %"
            "         51 %  oneDNN bf16\n");
}

}  // namespace
}  // namespace fourfold::tests
