// Measures what a machine is held to, on all ranks at the same time.
#pragma once

#include <functional>

#include "bench/regress/metric.hpp"

namespace fourfold::inline bench::inline regress {

// How often everything is repeated: about 15 s in all for `quick`, four times as long for
// `thorough`, on a machine that does nothing else.
enum class Effort : std::uint8_t { quick, thorough };

// Told what is measured next.
using Announce = std::function<void(const std::string&)>;

// Collective over MPI_COMM_WORLD; the same result on all ranks.
MachineRun measure_machine(Effort effort, const Announce& announce);

// For each quantity the better of two runs of the same machine; of rates of ranks, too.
MachineRun better_of(const MachineRun& one, const MachineRun& other);

}  // namespace fourfold::inline bench::inline regress
