// Examines this machine: files of the system, limits, the libraries, and two ranks under mpirun.
#pragma once

#include <string>

#include "bench/doctor/facts.hpp"

namespace fourfold::inline bench::inline doctor {

// Takes a few seconds. `executable` is fourfold-bench, which is started again as what follows.
Facts examine(const std::string& executable);

// What `executable probe-blas` prints: this process's OpenBLAS, as JSON.
std::string blas_probe();
// The cores that this process may run on: "0-3,8".
std::string own_cores();
// What `mpirun -n 2 executable probe-ranks` prints on rank 0, as JSON. Collective; MPI has been
// started.
std::string rank_probe();

}  // namespace fourfold::inline bench::inline doctor
