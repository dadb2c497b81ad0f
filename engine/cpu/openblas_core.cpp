// Asks OpenBLAS and the processor, and starts anew if they disagree; see openblas_core.hpp.
#include "engine/cpu/openblas_core.hpp"

#include <cblas.h>
#include <dnnl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "engine/cpu/sgemm.hpp"
#include "support/complaint.hpp"

// openblas_get_corename() is in cblas.h only of later versions.
extern "C" char* openblas_get_corename();

namespace fourfold::inline engine::inline cpu {

namespace {

constexpr const char* variable = "OPENBLAS_CORETYPE";

// As OpenBLAS 0.3 names its x86-64 cores; all others have 128-bit vectors.
VectorUnit used_by(const std::string& core) {
  constexpr std::array with_avx512{"SkylakeX", "Cooperlake", "SapphireRapids"};
  constexpr std::array with_avx2{"Haswell", "Zen"};
  const auto is_core = [&core](const char* known) { return core == known; };
  if (std::any_of(with_avx512.begin(), with_avx512.end(), is_core)) return VectorUnit::avx512;
  if (std::any_of(with_avx2.begin(), with_avx2.end(), is_core)) return VectorUnit::avx2;
  return VectorUnit::baseline;
}

// Flop/s of a product in cache, the best of a few.
double speed_of(Library library) {
  constexpr std::int64_t n = 384;
  const std::vector<float> a(n * n, 1.0F), b(n * n, 1.0F);
  std::vector<float> c(n * n);
  double best = 0.0;
  for (int run = 0; run < 5; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    sgemm(library, {.m = n,
                    .n = n,
                    .k = n,
                    .a = a.data(),
                    .a_stride = n,
                    .b = b.data(),
                    .b_stride = n,
                    .c = c.data(),
                    .c_stride = n});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * n * n * n / seconds.count());
  }
  return best;
}

// Open MPI tells its ranks which they are before they ask; elsewhere there is one process, or all
// of them speak.
bool is_first_of_job() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr || std::string(rank) == "0";
}

void warn(const std::string& sentence) {
  if (!is_first_of_job()) return;
  std::fprintf(stderr,
               "WARNING: %s.\nIt multiplies at %.0f Gflop/s here, oneDNN at %.0f; products are "
               "oneDNN's unless --tune-kernels finds OpenBLAS faster.\n",
               sentence.c_str(), speed_of(Library::openblas) / 1e9,
               speed_of(Library::onednn) / 1e9);
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

VectorUnit vector_unit() {
#if defined(__x86_64__)
  // OpenBLAS's SkylakeX kernels need all of these.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return VectorUnit::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VectorUnit::avx2;
#endif
  return VectorUnit::baseline;
}

std::string openblas_core() {
  return openblas_get_corename();
}

// Measured on Zen 5, in % of the FMA peak over the products of a small GPT: Haswell and Zen 45,
// both SkylakeX and Cooperlake 80 to 90.
std::optional<std::string> better_core_type(const std::string& core, VectorUnit unit) {
  if (used_by(core) >= unit) return std::nullopt;
  return unit == VectorUnit::avx512 ? "SKYLAKEX" : "HASWELL";
}

void start_anew_with(const char* name, const std::string& value) {
  std::vector<std::string> words = own_command_line();
  if (words.empty() || setenv(name, value.c_str(), 1) != 0) return;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
}

CoreVerdict verdict_on_core(const std::string& core, VectorUnit unit,
                            const std::optional<std::string>& asked_for, CoreWish wish) {
  using enum CoreVerdict::Action;
  const std::optional<std::string> better = better_core_type(core, unit);
  if (!better) return {};
  const std::string idle =
      "OpenBLAS uses its " + core + " kernels, which leave this processor's wider vectors idle";
  const std::string set_to = std::string(variable) + "=" + *better;
  if (wish == CoreWish::keep) {
    return {warn, "", idle + ", and --openblas-core keep leaves them; auto starts with " + set_to};
  }
  if (asked_for == better) {
    return {warn, "", idle + ", although " + set_to + " is set: it does not honour that"};
  }
  if (!asked_for) return {start_anew, *better, ""};
  return {start_anew, *better,
          std::string(variable) + "=" + *asked_for + " is replaced by " + *better +
              ", with wider vectors (--openblas-core keep leaves it)"};
}

void repair_openblas_core(CoreWish wish) {
  const char* const asked_for = std::getenv(variable);
  const CoreVerdict verdict = verdict_on_core(
      openblas_core(), vector_unit(),
      asked_for == nullptr ? std::nullopt : std::optional<std::string>(asked_for), wish);
  if (verdict.action == CoreVerdict::Action::start_anew) {
    if (!verdict.sentence.empty() && is_first_of_job()) remark(verdict.sentence);
    start_anew_with(variable, verdict.value);
    warn("the program could not be started anew with " + std::string(variable) + "=" +
         verdict.value + "; set it by hand");
  }
  if (verdict.action == CoreVerdict::Action::warn) warn(verdict.sentence);
}

std::string blas_report() {
  std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  const std::size_t version_end = config.find(' ', config.find(' ') + 1);
  const dnnl_version_t* const onednn = dnnl_version();
  return config.substr(0, version_end) + " with " + openblas_core() + " kernels, oneDNN " +
         std::to_string(onednn->major) + "." + std::to_string(onednn->minor) + "." +
         std::to_string(onednn->patch);
}

}  // namespace fourfold::inline engine::inline cpu
