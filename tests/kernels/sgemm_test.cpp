// What the libraries behind products are not asked, or refuse: in words, before memory is touched.
#include "engine/cpu/sgemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

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
