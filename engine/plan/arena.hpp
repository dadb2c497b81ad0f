// The arena: one allocation in which every buffer of a step has a fixed place, chosen before
// anything runs so that buffers which are never in use together share addresses.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/plan/buffers.hpp"

namespace fourfold {

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  // by buffer, multiples of 64 bytes
  std::int64_t bytes = 0;
};

// Greedy: large buffers first, each into the tightest gap among those placed before it that are in
// use at the same time. Of several orders the one that needs least is kept.
ArenaPlan plan_arena(const std::vector<PlannedBuffer>& buffers);
// Most bytes in use at any one step: no plan needs less.
std::int64_t least_bytes(const std::vector<PlannedBuffer>& buffers);

// Pages are touched when they are first written to. Throws std::bad_alloc.
class Arena {
 public:
  explicit Arena(std::int64_t bytes);
  std::byte* data() const { return memory_.get(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::int64_t bytes_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace fourfold
