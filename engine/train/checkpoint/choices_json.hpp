// Choices of kernels and of transports as JSON: what rank 0 sends to the others and what
// checkpoints keep, so that a resumed run computes with the same kernels, bit by bit, and times
// nothing again.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/cpu/kernel_choices.hpp"
#include "engine/mpi/transport_choice.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// Choices and how often each product comes; not the timings.
nlohmann::json json_of(const KernelChoices& choices);

// Throws std::runtime_error with a sentence if it is not what json_of writes.
KernelChoices read_kernel_choices(const nlohmann::json& value);

// The same of transports: rank 0's, of its channels.
nlohmann::json json_of(const std::vector<TransportChoice>& choices);
std::vector<TransportChoice> read_transport_choices(const nlohmann::json& value);

// Whether every product of a step has a choice.
bool covers(const KernelChoices& choices, const std::vector<CountedProduct>& products);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
