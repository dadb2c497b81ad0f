// A machine of which a doctor has nothing to say.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/doctor/facts.hpp"

namespace fourfold::tests {

inline constexpr std::int64_t mebi = std::int64_t{1} << 20;

// No two numbers are alike.
inline Facts healthy() {
  Facts facts;
  facts.blas = {"OpenBLAS 0.3.21 with SkylakeX kernels", "SkylakeX", std::nullopt, 120, 0, 140};
  facts.mpi = {"", 0.5, 6.25, true, {"0", "1"}};
  facts.cores = facts.usable_cores = 8;
  facts.load = 0.25;
  facts.governors = {"performance"};
  facts.shared_memory_bytes = 8192 * mebi;
  facts.memory_bytes = 32'768 * mebi;
  facts.open_files = 1024;
  return facts;
}

}  // namespace fourfold::tests
