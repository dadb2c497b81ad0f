// The trap of OpenBLAS's core type is seen, repaired once by starting anew, and shouted about where
// that is not wished or does not help; and the FMA peak is a plausible one.
#include "engine/cpu/openblas_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "engine/cpu/fma_peak.hpp"
#include "engine/cpu/sgemm.hpp"
#include "tests/paths.hpp"

namespace fourfold::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(OpenblasCore, IsBetteredWhereItLeavesVectorsIdle) {
  const std::optional<std::string> none;

  EXPECT_EQ(better_core_type("Prescott", VectorUnit::avx512), "SKYLAKEX");
  EXPECT_EQ(better_core_type("Haswell", VectorUnit::avx512), "SKYLAKEX");
  EXPECT_EQ(better_core_type("Zen", VectorUnit::avx512), "SKYLAKEX");
  EXPECT_EQ(better_core_type("SkylakeX", VectorUnit::avx512), none);
  EXPECT_EQ(better_core_type("Cooperlake", VectorUnit::avx512), none);
  EXPECT_EQ(better_core_type("SapphireRapids", VectorUnit::avx512), none);
  EXPECT_EQ(better_core_type("Prescott", VectorUnit::avx2), "HASWELL");
  EXPECT_EQ(better_core_type("Zen", VectorUnit::avx2), none);
  EXPECT_EQ(better_core_type("SkylakeX", VectorUnit::avx2), none);
  EXPECT_EQ(better_core_type("Prescott", VectorUnit::baseline), none);
}

// One that OpenBLAS took itself is replaced in silence, one that was asked for with a word; one
// that is to be kept, or does not honour the right value, is shouted about: the program would start
// anew for ever.
TEST(OpenblasCore, IsLeftReplacedOrShoutedAbout) {
  using Action = CoreVerdict::Action;
  const std::string replaced = "OPENBLAS_CORETYPE=Haswell is replaced by SKYLAKEX";
  struct Row {
    const char* core;
    std::optional<std::string> asked_for;
    CoreWish wish;
    Action action;
    std::string words;
  };
  const std::vector<Row> rows{
      {"SkylakeX", "SKYLAKEX", CoreWish::repair, Action::nothing, ""},
      {"SkylakeX", "SKYLAKEX", CoreWish::keep, Action::nothing, ""},
      {"Prescott", std::nullopt, CoreWish::repair, Action::start_anew, ""},
      {"Haswell", "Haswell", CoreWish::repair, Action::start_anew, replaced},
      {"Haswell", "Haswell", CoreWish::repair, Action::start_anew, "--openblas-core keep"},
      {"Haswell", "Haswell", CoreWish::keep, Action::warn,
       "starts with OPENBLAS_CORETYPE=SKYLAKEX"},
      {"Prescott", "SKYLAKEX", CoreWish::repair, Action::warn, "does not honour"}};
  for (const auto& [core, asked_for, wish, action, words] : rows) {
    const CoreVerdict verdict = verdict_on_core(core, VectorUnit::avx512, asked_for, wish);
    EXPECT_EQ(verdict.action, action) << core;
    EXPECT_EQ(verdict.sentence.empty(), words.empty()) << verdict.sentence;
    EXPECT_THAT(verdict.sentence, AllOf(HasSubstr(words), Not(HasSubstr("\n"))));
    if (action == Action::start_anew) {
      EXPECT_EQ(verdict.value, "SKYLAKEX");
    }
  }
}

// Started by the tests below in a process of its own, with one environment or another.
void repair_and_say(CoreWish wish) {
  use_one_thread();
  repair_openblas_core(wish);
  std::printf("core is right: %s\n",
              better_core_type(openblas_core(), vector_unit()) ? "no" : "yes");
}

TEST(OpenblasCore, DISABLED_Started) {
  repair_and_say(CoreWish::repair);
}

TEST(OpenblasCore, DISABLED_Kept) {
  repair_and_say(CoreWish::keep);
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

// What GoogleTest reads from the environment is for this process: a shard of one test may be empty.
constexpr const char* without_test_settings =
    "-u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX -u GTEST_SHARD_STATUS_FILE -u GTEST_REPEAT "
    "-u GTEST_SHUFFLE -u GTEST_OUTPUT ";

std::string printed_by_start(const std::string& environment, const std::string& test) {
  const std::string command =
      "env " + (without_test_settings + environment) + " '" + executable_path("tests-kernels") +
      "' " + "--gtest_also_run_disabled_tests --gtest_filter=OpenblasCore.DISABLED_" + test +
      " 2>&1";
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
  EXPECT_THAT(text, AllOf(HasSubstr("before\n"), HasSubstr("anew: yes\n")));
}

TEST(OpenblasCore, IsRepairedWithAWordWhereTheEnvironmentAskedForIt) {
  if (vector_unit() == VectorUnit::baseline) GTEST_SKIP() << "no kernels are too slow here";

  const std::string text = printed_by_start("OPENBLAS_CORETYPE=PRESCOTT", "Started");

  EXPECT_THAT(text, HasSubstr("OPENBLAS_CORETYPE=PRESCOTT is replaced by"));
  EXPECT_THAT(text, HasSubstr("core is right: yes"));
  EXPECT_THAT(text, Not(HasSubstr("WARNING")));
}

TEST(OpenblasCore, IsShoutedAboutInFiguresWhereItIsToBeKept) {
  if (vector_unit() == VectorUnit::baseline) GTEST_SKIP() << "no kernels are too slow here";

  const std::string text = printed_by_start("OPENBLAS_CORETYPE=PRESCOTT", "Kept");

  EXPECT_THAT(text, HasSubstr("core is right: no"));
  EXPECT_THAT(text, HasSubstr("WARNING: OpenBLAS uses its Prescott kernels"));
  EXPECT_THAT(text, testing::ContainsRegex("multiplies at [0-9]+ Gflop/s here, oneDNN at [0-9]+"));
}

TEST(FmaPeak, IsThatOfACoreAndNotOfLeftOutWork) {
  const double peak = fma_peak_flops_per_second();

  EXPECT_GT(peak, 1e9);
  EXPECT_LT(peak, 1e12);  // 64 flop a cycle at 15 GHz
  EXPECT_THAT(fma_peak_vectors(), HasSubstr("-bit"));
}

// Of the better library on one core, the best of many: interruptions make some slow, none faster.
double product_flops_per_second() {
  constexpr std::int64_t n = 512;
  const std::vector<float> a(n * n, 1.0F);
  std::vector<float> c(n * n);
  use_one_thread();
  double best = 0.0;
  for (int i = 0; i < 40; ++i) {
    const Library library = i % 2 == 0 ? Library::openblas : Library::onednn;
    const auto start = std::chrono::steady_clock::now();
    sgemm(library, {.m = n,
                    .n = n,
                    .k = n,
                    .a = a.data(),
                    .a_stride = n,
                    .b = a.data(),
                    .b_stride = n,
                    .c = c.data(),
                    .c_stride = n});
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * n * n * n / spent.count());
  }
  return best;
}

TEST(FmaPeak, IsNotBeatenByAProduct) {
  EXPECT_LT(product_flops_per_second(), 1.2 * fma_peak_flops_per_second());
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
}  // namespace fourfold::tests
