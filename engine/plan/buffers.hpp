// Which values of a schedule share memory on a device, and how long each piece of memory is in use:
// known before anything runs, and all that the arena needs to know.
#pragma once

#include <vector>

#include "schedule/order/issue.hpp"

namespace fourfold::inline engine::inline plan {

// A stretch of memory in use from step `first` to step `last` of the stream, both included. One
// that is filled part by part has parts that cover it: until a part's own first step its place is
// free.
struct PlannedBuffer {
  struct Part {
    std::int64_t offset = 0, bytes = 0;
    std::int32_t first = 0;
  };
  std::int64_t bytes = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::vector<Part> parts{};  // none: all of it is in use from its first step on

  // One that covers it, where there are none.
  std::vector<Part> all_parts() const {
    return parts.empty() ? std::vector<Part>{{0, bytes, first}} : parts;
  }
};

// Where a value lies: in a buffer, or in the very memory of a persistent value (a weight that is
// its own gathered whole where nothing is cut) or of a cache. Neither for words.
struct Slot {
  std::int32_t buffer = -1;
  std::int64_t offset = 0;  // bytes
  Id persistent = -1;
  bool on_host = false;  // in one of the host's buffers
};

struct BufferPlan {
  std::vector<PlannedBuffer> buffers;
  std::vector<PlannedBuffer> on_host;  // in the memory of the device's host
  std::vector<Slot> slots;             // by value
};

// Results of maps and adds take over the buffer of an operand of their shape and precision that
// dies there, an all-reduce works in place, collectives with one member hand their operand on. What
// is sent stays as it is until the wait for its send.
// Values that are going to be packed are born side by side, so that a pack moves no bytes; an
// unpacked value is a part of its pack. `tokens`: of one micro-batch over all devices.
BufferPlan plan_buffers(const Schedule& schedule, const ProcessGrid& grid, std::int64_t tokens);

}  // namespace fourfold::inline engine::inline plan
