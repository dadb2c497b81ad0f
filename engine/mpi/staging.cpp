// Copies to and from the host's buffers; see staging.hpp.
#include "engine/mpi/staging.hpp"

namespace fourfold::inline engine::inline mpi {

std::byte* Staging::room(std::size_t number, std::int64_t bytes) {
  if (slots_.size() <= number) slots_.resize(number + 1);
  Slot& slot = slots_[number];
  if (slot.bytes < bytes) {
    slot.memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    slot.bytes = bytes;
  }
  return slot.memory.get();
}

// MPI knows nothing of the device's queue: what touches an address must be finished before MPI has
// it.
const std::byte* Staging::outgoing(std::size_t slot, const std::byte* from, std::int64_t bytes) {
  if (direct_) {
    memory_.finish();
    return from;
  }
  std::byte* const host = room(slot, bytes);
  memory_.copy_out(host, from, bytes);
  bytes_ += bytes;
  return host;
}

std::byte* Staging::incoming(std::size_t slot, std::byte* to, std::int64_t bytes) {
  if (!direct_) return room(slot, bytes);
  memory_.finish();
  return to;
}

void Staging::arrived(std::size_t slot, std::byte* to, std::int64_t bytes) {
  if (direct_) return;
  memory_.copy_in(to, slots_[slot].memory.get(), bytes);
  bytes_ += bytes;
}

}  // namespace fourfold::inline engine::inline mpi
