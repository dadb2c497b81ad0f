// Products of several tiles in every library and form against the reference; the list of a
// program's products; tuning, which picks the fastest of what it timed; and what the libraries
// behind products refuse before memory is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "engine/cpu/sgemm.hpp"
#include "engine/cpu/tune.hpp"
#include "engine/cpu/tuned_backend.hpp"
#include "engine/reference/matrix.hpp"
#include "tests/kernels/blocks.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

struct Extents {
  std::int64_t m, n, k;
};

// Random operands of a product of a form, and what it is in double.
struct DrawnProduct {
  DrawnProduct(GemmForm recorded, const Extents& of, Precision operands, unsigned seed)
      : form(recorded),
        extents(of),
        a(form == GemmForm::tn ? of.k : of.m, form == GemmForm::tn ? of.m : of.k, operands),
        b(form == GemmForm::nt ? of.n : of.k, form == GemmForm::nt ? of.k : of.n, operands),
        expected(of.m, of.n) {
    std::mt19937 random(seed);
    fill(a, random);
    fill(b, random);
    const Matrix<double> exact_a = a.numbers<double>(), exact_b = b.numbers<double>();
    reference::gemm<double>(form, exact_a.view(), exact_b.view(), expected.view());
  }
  // By this kernel, and once more with progress calls, which change nothing; how many there were.
  int expect_by(const GemmKernel& kernel, Precision result, GemmKernels& kernels,
                Scratch& scratch) {
    Block out(extents.m, extents.n, result), paced(extents.m, extents.n, result);
    int calls = 0;
    kernels.multiply({form, a.tensor(), b.tensor(), out.tensor()}, kernel, scratch, {});
    kernels.multiply({form, a.tensor(), b.tensor(), paced.tensor()}, kernel, scratch,
                     [&calls] { ++calls; });
    const double sums = 6e-7 * std::sqrt(extents.k) * 8;
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const double x = expected.values[static_cast<std::size_t>(i)];
      const double rounding = result == Precision::bf16 ? std::abs(x) / 256 : 0.0;
      EXPECT_NEAR(out.get(i), x, sums + rounding) << "element " << i;
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_EQ(out.numbers<float>(), paced.numbers<float>());
    return calls;
  }

  GemmForm form;
  Extents extents;
  Block a, b;
  Matrix<double> expected;
};

class EveryKernel
    : public testing::TestWithParam<std::tuple<Library, GemmForm, GemmForm, Precision>> {};

// 530 rows and 1,100 columns are whole tiles and a rest; 2,100 are more than is contracted at once
// where an operand has to be moved, once for a lone tile and once for two rows of them.
TEST_P(EveryKernel, AgreesWithTheReferenceOnSeveralTiles) {
  const auto [library, form, recorded, precision] = GetParam();
  for (const Extents& e :
       {Extents{530, 1100, 19}, Extents{5, 3, 7}, Extents{25, 18, 2100}, Extents{520, 6, 2100}}) {
    Scratch scratch;
    GemmKernels kernels;
    const int calls = DrawnProduct(recorded, e, precision, 11)
                          .expect_by({library, form}, precision, kernels, scratch);

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
    Scratch scratch;
    GemmKernels kernels;
    const GemmKernel kernel{Library::onednn, form, Precision::bf16};
    const int calls =
        DrawnProduct(form, e, Precision::bf16, 13).expect_by(kernel, precision, kernels, scratch);

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

// Tiles are kept: one of the same extents lies otherwise in a matrix of other extents, and writes
// one precision. All products are done by the same kernels and scratch, each twice, among them some
// with 512 rows or columns.
TEST(Products, OfOtherExtentsFormsAndPrecisionsFollowOneAnotherInAnyOrder) {
  if (!computes_in_bf16()) GTEST_SKIP() << "oneDNN has no bf16 on this processor";
  const std::vector<Extents> all{{512, 512, 9}, {530, 520, 9}, {540, 512, 9}, {512, 600, 9},
                                 {7, 5, 3},     {3, 5, 7},     {5, 7, 3},     {1, 1, 1}};
  Scratch scratch;
  GemmKernels kernels;
  unsigned seed = 19;
  for (int round = 0; round < 2; ++round) {
    for (const GemmForm form : every_form) {
      for (const Extents& e : all) {
        DrawnProduct drawn(form, e, Precision::bf16, ++seed);
        for (const Precision result : {Precision::bf16, Precision::fp32}) {
          drawn.expect_by({Library::onednn, form, Precision::bf16}, result, kernels, scratch);
        }
        drawn.expect_by({Library::openblas, every_form[seed % 3], Precision::fp32}, Precision::fp32,
                        kernels, scratch);
      }
    }
  }
}

std::vector<CountedProduct> odd_products() {
  StepOptions options;
  options.recompute = Recompute::none;
  return products(record_step(odd_model(), options), {2, 1, 1, 1}, 39);
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

// The choice is felt: a form that transposes first needs scratch, the recorded one in fp32 none;
// and later choices replace all earlier ones, so that what has none any more goes untuned.
TEST(Choices, DecideHowTheBackendMultiplies) {
  const Program program = record_step(odd_model(), {});
  std::vector<Case> cases = cases_of(program, {odd_model(), {1, 1, 1, 1}, 0, 2, Precision::fp32});
  Case& c = *std::ranges::find(cases, OpKind::gemm, [](const Case& one) { return one.op.kind; });
  const Product other{GemmForm::nn, 1, 2, 3, Precision::fp32, Precision::fp32, Precision::fp32};
  const GemmKernel kernel{Library::openblas, GemmForm::nn, Precision::fp32};
  TunedBackend plain, transposing, forgetting;
  plain.set_choices(one_choice({Library::openblas, GemmForm::nn}));
  transposing.set_choices(one_choice({Library::openblas, GemmForm::tn}));
  forgetting.set_choices(one_choice({Library::openblas, GemmForm::tn}));
  forgetting.set_choices({{{other, 1, kernel, {{kernel, 1e-6}}}}});

  for (TunedBackend* const backend : {&plain, &transposing, &forgetting}) {
    backend->compute(c.device, c.op, c.operands(), {});
  }

  EXPECT_EQ(plain.choices().choices.size(), 1U);
  EXPECT_EQ(plain.scratch_bytes(), 0);
  EXPECT_GT(transposing.scratch_bytes(), 0);
  EXPECT_EQ(forgetting.scratch_bytes(), 0);
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
  EXPECT_EQ(table({}, 1e12), "no matrix product has been timed\n");
}

std::string said(Library library, const Sgemm& product) {
  return refusal<std::runtime_error>([&] { sgemm(library, product); });
}

// OpenBLAS counts in 32 bits: one more than they hold is too much for each of its six extents.
TEST(Sgemm, OfOpenblasRefusesExtentsThatItCannotCount) {
  constexpr std::int64_t most = 2147483647;
  std::int64_t Sgemm::*const extents[] = {&Sgemm::m,        &Sgemm::n,        &Sgemm::k,
                                          &Sgemm::a_stride, &Sgemm::b_stride, &Sgemm::c_stride};
  for (std::int64_t Sgemm::*const extent : extents) {
    for (const std::int64_t too_long : {most + 1, 2 * most + 5}) {
      Sgemm product{.m = 0, .n = 0, .k = 0, .a_stride = 1, .b_stride = 1, .c_stride = 1};
      product.*extent = too_long;

      EXPECT_EQ(said(Library::openblas, product),
                "OpenBLAS cannot multiply matrices with an extent of " + std::to_string(too_long));
    }
  }
}

TEST(Sgemm, OfOnednnSaysWhatItRefused) {
  std::vector<float> numbers(64, 1.0F);
  float* const all = numbers.data();
  const Sgemm sound{.m = 2,
                    .n = 2,
                    .k = 2,
                    .a = all,
                    .a_stride = 2,
                    .b = all + 8,
                    .b_stride = 2,
                    .c = all + 16,
                    .c_stride = 2};
  Sgemm overlapping = sound;
  overlapping.a_stride = 1;  // rows of two numbers

  EXPECT_EQ(said(Library::onednn, sound), "accepted");
  EXPECT_THAT(said(Library::onednn, overlapping),
              testing::HasSubstr("oneDNN refused a product with status "));
}

// A result is added to where beta is 1, whatever the form and the strides.
TEST(Sgemm, OfEitherLibraryAddsWhereItIsToldTo) {
  constexpr std::int64_t m = 3, n = 4, k = 5, stride = 9;
  std::vector<float> a(stride * stride), b(stride * stride);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 7) - 3.0F;
    b[i] = static_cast<float>(i % 5) - 1.0F;
  }
  for (const Library library : {Library::openblas, Library::onednn}) {
    for (const GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
      for (const float beta : {0.0F, 1.0F}) {
        std::vector<float> c(stride * stride, 2.0F);

        sgemm(library, {form, m, n, k, a.data(), stride, b.data(), stride, c.data(), stride, beta});

        for (std::int64_t i = 0; i < stride; ++i) {
          for (std::int64_t j = 0; j < stride; ++j) {
            float expected = 2.0F;
            if (i < m && j < n) {
              expected *= beta;
              for (std::int64_t l = 0; l < k; ++l) {
                const std::int64_t in_a = form == GemmForm::tn ? l * stride + i : i * stride + l;
                const std::int64_t in_b = form == GemmForm::nt ? j * stride + l : l * stride + j;
                expected += a[static_cast<std::size_t>(in_a)] * b[static_cast<std::size_t>(in_b)];
              }
            }
            EXPECT_EQ(c[static_cast<std::size_t>(i * stride + j)], expected)
                << name(library) << " " << name(form) << " at " << i << ", " << j;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
