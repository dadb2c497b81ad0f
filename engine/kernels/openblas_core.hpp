// The trap of OpenBLAS's core type: a library older than the processor may silently fall back to
// kernels for a much older one (0.3.21 takes Emerald Rapids for a Prescott, and multiplies at a
// fifth of the speed; Zen 5 it takes for a Cooperlake, which is right). Detected, repaired, or
// shouted about.
#pragma once

#include <optional>
#include <string>

namespace fourfold {

// What of the instruction set decides which kernels are right.
enum class VectorUnit { baseline, avx2, avx512 };
VectorUnit vector_unit();  // of this processor, by CPUID

// The core whose kernels OpenBLAS uses in this process, as it names it: "SkylakeX".
std::string openblas_core();

// The value for OPENBLAS_CORETYPE under which that processor's vectors are used; nothing where the
// core already uses them.
std::optional<std::string> better_core_type(const std::string& core, VectorUnit unit);

// To be called first in main, before MPI_Init and before threads: where OpenBLAS took a slower
// core, starts this very program anew with OPENBLAS_CORETYPE set, once, and does not return. A
// variable that is set already is somebody's wish: if the core is slow, says so on standard error
// and goes on.
void repair_openblas_core();

// Executes this very program with its arguments and one more environment variable. Returns only if
// the system refuses.
void start_anew_with(const char* variable, const std::string& value);

// "OpenBLAS 0.3.21 with SkylakeX kernels, oneDNN 2.6.3", for logs and reports.
std::string blas_report();

}  // namespace fourfold
