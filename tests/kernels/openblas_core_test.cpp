// The trap of OpenBLAS's core type is seen, repaired once by starting anew, and shouted about where
// the user's own wish stands in the way; and the FMA peak is a plausible one.
#include "engine/kernels/openblas_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "engine/kernels/fma_peak.hpp"
#include "engine/kernels/sgemm.hpp"

namespace fourfold {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OpenblasCore, IsBetteredWhereItLeavesVectorsIdle) {
  const std::optional<std::string> none;

  EXPECT_EQ(better_core_type("Prescott", VectorUnit::avx512), "SKYLAKEX");
  EXPECT_EQ(better_core_type("Haswell", VectorUnit::avx512), "SKYLAKEX");
  EXPECT_EQ(better_core_type("Zen", VectorUnit::avx512), "SKYLAKEX");
  EXPECT_EQ(better_core_type("SkylakeX", VectorUnit::avx512), none);
  EXPECT_EQ(better_core_type("Cooperlake", VectorUnit::avx512), none);
  EXPECT_EQ(better_core_type("Prescott", VectorUnit::avx2), "HASWELL");
  EXPECT_EQ(better_core_type("Zen", VectorUnit::avx2), none);
  EXPECT_EQ(better_core_type("SkylakeX", VectorUnit::avx2), none);
  EXPECT_EQ(better_core_type("Prescott", VectorUnit::baseline), none);
}

TEST(OpenblasCore, ReportNamesBothLibrariesAndTheCore) {
  EXPECT_THAT(blas_report(), testing::MatchesRegex("OpenBLAS [0-9.]+ with [A-Za-z0-9]+ kernels, "
                                                   "oneDNN [0-9.]+"));
}

// Started by the tests below in a process of its own, with one environment or another.
TEST(OpenblasCore, DISABLED_Started) {
  repair_openblas_core();
  std::printf("core is right: %s\n",
              better_core_type(openblas_core(), vector_unit()) ? "no" : "yes");
}

TEST(OpenblasCore, DISABLED_StartedAnew) {
  constexpr const char* variable = "FOURFOLD_TEST_STARTED_ANEW";
  if (std::getenv(variable) == nullptr) {
    std::printf("before\n");
    std::fflush(stdout);
    start_anew_with(variable, "yes");
  }
  const char* const value = std::getenv(variable);
  std::printf("anew: %s\n", value == nullptr ? "no" : value);
}

std::string printed_by_start(const std::string& environment, const std::string& test) {
  const std::string command =
      "env " + environment + " '" FOURFOLD_BIN_DIR "/tests-kernels' " +
      "--gtest_also_run_disabled_tests --gtest_filter=OpenblasCore.DISABLED_" + test + " 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  return pclose(pipe) == 0 ? text : "failed: " + text;
}

TEST(OpenblasCore, IsRepairedInSilence) {
  const std::string text = printed_by_start("-u OPENBLAS_CORETYPE", "Started");

  EXPECT_THAT(text, HasSubstr("core is right: yes"));
  EXPECT_THAT(text, Not(HasSubstr("WARNING")));
}

// Once: what is printed before comes once, and what is printed after comes once.
TEST(OpenblasCore, StartsTheProgramAnewWithItsArguments) {
  const std::string text = printed_by_start("-u FOURFOLD_TEST_STARTED_ANEW", "StartedAnew");

  EXPECT_EQ(text.find("before\n"), text.rfind("before\n"));
  EXPECT_THAT(text, testing::AllOf(HasSubstr("before\n"), HasSubstr("anew: yes\n")));
}

TEST(OpenblasCore, IsShoutedAboutWhereTheUserAskedForIt) {
  if (vector_unit() == VectorUnit::baseline) GTEST_SKIP() << "no kernels are too slow here";

  const std::string text = printed_by_start("OPENBLAS_CORETYPE=PRESCOTT", "Started");

  EXPECT_THAT(text, HasSubstr("core is right: no"));
  EXPECT_THAT(text, HasSubstr("WARNING: OpenBLAS uses its Prescott kernels"));
  EXPECT_THAT(text, HasSubstr("start with OPENBLAS_CORETYPE="));
}

TEST(FmaPeak, IsThatOfACoreAndNotOfLeftOutWork) {
  const double peak = fma_peak_flops_per_second();

  EXPECT_GT(peak, 1e9);
  EXPECT_LT(peak, 1e12);  // 64 flop a cycle at 15 GHz
  EXPECT_THAT(fma_peak_vectors(), HasSubstr("-bit"));
}

TEST(Names, ReadBackOrNameWhatThereIs) {
  for (Library library : {Library::openblas, Library::onednn}) {
    EXPECT_EQ(library_named(name(library)), library);
  }
  for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
    EXPECT_EQ(form_named(name(form)), form);
  }
  EXPECT_THAT([] { library_named("MKL"); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("OpenBLAS and oneDNN")));
  EXPECT_THAT([] { form_named("TT"); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("NN, NT and TN")));
}

}  // namespace
}  // namespace fourfold
