// Memory that kernels use while they run and keep for the next: it grows to the largest need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace fourfold::inline engine::inline cpu {

class Scratch {
 public:
  // Of `n` numbers, aligned to 64 bytes, with what was left in them. Each slot is one buffer; what
  // a slot gave before is gone.
  float* floats(std::size_t slot, std::int64_t n) {
    Buffer& buffer = buffers_.at(slot);
    if (buffer.size < n) {
      const std::int64_t lines = (n + 15) / 16;
      buffer.memory.reset();
      buffer.memory.reset(
          static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>(lines) * 64)));
      if (buffer.memory == nullptr) throw std::bad_alloc();
      buffer.size = lines * 16;
    }
    return buffer.memory.get();
  }
  // Makes it resident: what is allocated alone is not there yet.
  void take(std::size_t slot, std::int64_t n) { std::fill_n(floats(slot, n), n, 0.0F); }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const Buffer& buffer : buffers_) sum += buffer.size * 4;
    return sum;
  }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  struct Buffer {
    std::unique_ptr<float, Free> memory;
    std::int64_t size = 0;
  };
  std::array<Buffer, 8> buffers_;
};

}  // namespace fourfold::inline engine::inline cpu
