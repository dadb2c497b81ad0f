// A device of tests, as far from the host as one can be: its addresses lie in pages that nobody may
// touch, its bytes elsewhere, and what is asked of it waits until somebody waits for it.
#pragma once

#include <sys/mman.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#include "engine/host_memory.hpp"

namespace fourfold::tests {

// Who follows an address of it that is no device dies, but for MPI where it reaches the device:
// then addresses are real, and only what is not waited for is noticed.
class ApartMemory final : public DeviceMemory {
 public:
  explicit ApartMemory(MemoryReach reach = MemoryReach::device) : reach_(reach) {}
  ~ApartMemory() override { finish(); }

  MemoryReach reach() const override { return reach_; }
  void copy_in(std::byte* to, const std::byte* host, std::int64_t bytes) override {
    std::byte* const real = bytes_at(to, bytes);
    ask([this, real, kept = std::vector<std::byte>(host, host + bytes)] {
      host_.copy(real, kept.data(), static_cast<std::int64_t>(kept.size()));
    });
  }
  void copy_out(std::byte* host, const std::byte* from, std::int64_t bytes) override {
    const std::byte* const real = bytes_at(from, bytes);
    finish();
    host_.copy(host, real, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    ask([this, real = bytes_at(to, bytes), other = bytes_at(from, bytes), bytes] {
      host_.copy(real, other, bytes);
    });
  }
  void fill_zeros(std::byte* at, std::int64_t bytes) override {
    ask([this, real = bytes_at(at, bytes), bytes] { host_.fill_zeros(real, bytes); });
  }
  void reduce(Combination combination, std::byte* result, const std::byte* so_far,
              const std::byte* own, std::int64_t elements) override {
    const std::int64_t bytes = elements * bytes_per_element(combination.precision);
    ask([=, this, to = bytes_at(result, bytes), one = bytes_at(so_far, bytes),
         other = bytes_at(own, bytes)] { host_.reduce(combination, to, one, other, elements); });
  }
  void finish() override {
    const Lock lock(mutex_);
    while (!queue_.empty()) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  }

  // For kernels: after all that was asked before.
  void ask(std::function<void()> work) {
    const Lock lock(mutex_);
    queue_.push_back(std::move(work));
  }
  // Where the bytes of an address are. Throws std::logic_error if they are not the device's.
  std::byte* bytes_at(const std::byte* address, std::int64_t bytes) {
    const Lock lock(mutex_);
    if (bytes == 0) return nullptr;
    auto block = blocks_.upper_bound(address);
    if (block != blocks_.begin()) --block;
    if (block == blocks_.end() || address < block->first ||
        address + bytes > block->first + block->second.bytes) {
      throw std::logic_error("no address of the device");
    }
    return block->second.real() + (address - block->first);
  }

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;
  struct Mapped {
    std::int64_t bytes = 0;
    std::byte* own = nullptr;          // of the address itself, where MPI reaches it
    std::vector<std::byte> elsewhere;  // else
    std::byte* real() { return own != nullptr ? own : elsewhere.data(); }
  };

  std::byte* take(std::int64_t bytes) override {
    const Lock lock(mutex_);
    const bool open = reach_ != MemoryReach::device;
    void* const made =
        mmap(nullptr, static_cast<std::size_t>(bytes) + 1,
             open ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    auto* const address = static_cast<std::byte*>(made);
    constexpr std::byte left{0xff};  // floats that are not numbers
    Mapped& block = blocks_[address];
    block.bytes = bytes;
    if (open) {
      block.own = address;
      std::fill_n(address, bytes, left);
    } else {
      block.elsewhere.assign(static_cast<std::size_t>(bytes), left);
    }
    return address;
  }
  void give_back(std::byte* data) noexcept override {
    finish();
    const Lock lock(mutex_);
    munmap(data, static_cast<std::size_t>(blocks_.at(data).bytes) + 1);
    blocks_.erase(data);
  }

  MemoryReach reach_;
  HostMemory host_;
  std::recursive_mutex mutex_;
  std::deque<std::function<void()>> queue_;
  std::map<const std::byte*, Mapped> blocks_;  // by first address
};

}  // namespace fourfold::tests
