// What stands between a device's memory and MPI: nothing where the library reaches it, buffers of
// the host elsewhere. Every byte that goes through them is counted.
#pragma once

#include <memory>
#include <vector>

#include "engine/device_memory.hpp"

namespace fourfold::inline engine::inline mpi {

// A message uses a slot from outgoing() or incoming() on until it has left, or has been taken in by
// arrived(); slots grow to the longest message.
class Staging {
 public:
  explicit Staging(DeviceMemory& memory)
      : memory_(memory), direct_(memory.reach() != MemoryReach::device) {}

  // Whether MPI gets the device's own addresses.
  bool direct() const { return direct_; }
  // Where MPI finds these bytes of the device, and where it may put those that come.
  const std::byte* outgoing(std::size_t slot, const std::byte* from, std::int64_t bytes);
  std::byte* incoming(std::size_t slot, std::byte* to, std::int64_t bytes);
  // They have come.
  void arrived(std::size_t slot, std::byte* to, std::int64_t bytes);
  // Copied so far, in both directions.
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Slot {
    std::unique_ptr<std::byte[]> memory;
    std::int64_t bytes = 0;
  };
  std::byte* room(std::size_t slot, std::int64_t bytes);

  DeviceMemory& memory_;
  bool direct_ = true;
  std::vector<Slot> slots_;
  std::int64_t bytes_ = 0;
};

}  // namespace fourfold::inline engine::inline mpi
