// Which transport each collective of a run goes by, as the header prints it.
#pragma once

#include <string>
#include <vector>

#include "engine/mpi/transport_choice.hpp"

namespace fourfold::inline engine::inline train::inline run {

// A line per channel and collective: each candidate's bus bandwidth in GB/s as nccl-tests defines
// it, and what was chosen.
std::string table(const std::vector<TransportChoice>& choices);

}  // namespace fourfold::inline engine::inline train::inline run
