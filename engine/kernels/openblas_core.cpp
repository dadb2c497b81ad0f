// Asks OpenBLAS and the processor, and starts anew if they disagree; see openblas_core.hpp.
#include "engine/kernels/openblas_core.hpp"

#include <cblas.h>
#include <dnnl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

// openblas_get_corename() is in cblas.h only of later versions.
extern "C" char* openblas_get_corename();

namespace fourfold {

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

void repair_openblas_core() {
  const std::string core = openblas_core();
  const std::optional<std::string> better = better_core_type(core, vector_unit());
  if (!better) return;
  const char* const asked_for = std::getenv(variable);
  if (asked_for == nullptr) start_anew_with(variable, *better);
  std::fprintf(stderr,
               "WARNING: OpenBLAS uses its %s kernels, which leave this processor's wider vectors "
               "idle: its products take 2 to 5 times as long. %s %s; start with %s=%s.\n",
               core.c_str(), variable,
               asked_for == nullptr ? "could not be set" : "in the environment asks for them",
               variable, better->c_str());
}

std::string blas_report() {
  std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  const std::size_t version_end = config.find(' ', config.find(' ') + 1);
  const dnnl_version_t* const onednn = dnnl_version();
  return config.substr(0, version_end) + " with " + openblas_core() + " kernels, oneDNN " +
         std::to_string(onednn->major) + "." + std::to_string(onednn->minor) + "." +
         std::to_string(onednn->patch);
}

}  // namespace fourfold
