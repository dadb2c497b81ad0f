// From facts about a machine to findings: what is wrong, and what cures it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/doctor/facts.hpp"

namespace fourfold::inline bench::inline doctor {

// A note is worth knowing and falsifies nothing.
enum class Health : std::uint8_t { fine, note, wrong };
const char* name(Health verdict);

struct Symptom {
  std::string subject;  // "BLAS kernels"
  Health verdict = Health::fine;
  std::string found;  // one sentence without its full stop
  std::string cure;   // what to do; empty where nothing is to be done
};

// One finding a subject, always in the same order.
std::vector<Symptom> diagnosis(const Facts& facts);

// Of shared memory, for a rank of the engine: the segment of Open MPI (4 MiB) and the windows of
// the step's channels (engine/mpi/window_transport.hpp), some MiB each.
inline constexpr std::int64_t shared_memory_a_rank = std::int64_t{64} << 20;

}  // namespace fourfold::inline bench::inline doctor
