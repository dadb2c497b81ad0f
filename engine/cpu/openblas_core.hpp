// The trap of OpenBLAS's core type: a library older than the processor may silently fall back to
// kernels for a much older one (0.3.21 takes Emerald Rapids for a Prescott, and multiplies at a
// fifth of the speed; Zen 5 it takes for a Cooperlake, which is right). Detected, repaired, or
// shouted about.
#pragma once

#include <optional>
#include <string>

namespace fourfold::inline engine::inline cpu {

// What of the instruction set decides which kernels are right.
enum class VectorUnit { baseline, avx2, avx512 };
VectorUnit vector_unit();  // of this processor, by CPUID

// The core whose kernels OpenBLAS uses in this process, as it names it: "SkylakeX".
std::string openblas_core();

// The value for OPENBLAS_CORETYPE under which that processor's vectors are used; nothing where the
// core already uses them.
std::optional<std::string> better_core_type(const std::string& core, VectorUnit unit);

// Whether slower kernels than the processor can run are to be replaced, or left and warned of.
enum class CoreWish { repair, keep };

// What is done about the kernels OpenBLAS uses, before anything computes.
struct CoreVerdict {
  enum class Action { nothing, start_anew, warn } action = Action::nothing;
  std::string value;     // for OPENBLAS_CORETYPE, where the program starts anew
  std::string sentence;  // for people; empty where there is nothing to say
};

// `asked_for` is OPENBLAS_CORETYPE in the environment. Kernels that are too slow are replaced even
// where it asks for them (people set it for other programs), but never twice: if the right value
// stands there already, OpenBLAS does not honour it, and all that is left is to warn.
CoreVerdict verdict_on_core(const std::string& core, VectorUnit unit,
                            const std::optional<std::string>& asked_for, CoreWish wish);

// To be called before MPI_Init and before threads: where OpenBLAS took a slower core than it might,
// starts this very program anew with OPENBLAS_CORETYPE set, once, and does not return. Where that
// cannot be, or is not wished, warns with the speed it measures. Of the ranks of a job the first
// speaks, on standard error.
void repair_openblas_core(CoreWish wish);

// Executes this very program with its arguments and one more environment variable. Returns only if
// the system refuses.
void start_anew_with(const char* variable, const std::string& value);

// "OpenBLAS 0.3.21 with SkylakeX kernels, oneDNN 2.6.3", for logs and reports.
std::string blas_report();

}  // namespace fourfold::inline engine::inline cpu
