// Memory of the processor as a device's: what the CPU backends compute in. Everything happens at
// once, in the thread that asks.
#pragma once

#include "engine/device_memory.hpp"

namespace fourfold::inline engine {

class HostMemory final : public DeviceMemory {
 public:
  MemoryReach reach() const override { return MemoryReach::host; }
  void copy_in(std::byte* to, const std::byte* host, std::int64_t bytes) override;
  void copy_out(std::byte* host, const std::byte* from, std::int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;
  void fill_zeros(std::byte* at, std::int64_t bytes) override;
  void reduce(Combination combination, std::byte* result, const std::byte* so_far,
              const std::byte* own, std::int64_t elements) override;
  void finish() override {}

 private:
  std::byte* take(std::int64_t bytes) override;
  void give_back(std::byte* data) noexcept override;
};

// The arithmetic of HostMemory::reduce.
void combine(Combination combination, std::byte* result, const std::byte* so_far,
             const std::byte* own, std::int64_t elements);

}  // namespace fourfold::inline engine
