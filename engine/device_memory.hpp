// The memory of a device: blocks, copies and sums behind one interface. An address of it is a
// number to everybody but its owner, who alone follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "schedule/program/sharding.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline engine {

// Who follows an address of the memory beside its device, once all that was asked of it is
// finished.
enum class MemoryReach : std::uint8_t {
  host,   // everybody in this process: it is ordinary memory, and what is ordinary may be handed in
  mpi,    // the MPI library, to send from it and to receive into it
  device  // nobody: what MPI moves goes through buffers of the host
};

class DeviceMemory;

// Memory of a device, given back with the last owner.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  std::byte* data() const { return data_.get(); }
  std::int64_t bytes() const { return bytes_; }

 private:
  friend class DeviceMemory;
  struct GiveBack {
    DeviceMemory* owner;
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, GiveBack> data_;
  std::int64_t bytes_ = 0;
};

// How two numbers become one, and what they are stored in.
struct Combination {
  Owed owed = Owed::sum;
  Precision precision = Precision::fp32;  // or bf16
};

// Copies, sums and the kernels of one device happen one after the other, in the order they were
// asked for, whether at once or later: only finish() and copy_out() wait. Any thread may ask.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  virtual MemoryReach reach() const = 0;
  // Aligned to 64 bytes, with what was left in it; must not outlive this. Pages of ordinary memory
  // are touched when they are first written to. Throws std::bad_alloc.
  DeviceBlock allocate(std::int64_t bytes);

  // `host` may be written to again as soon as the call returns.
  virtual void copy_in(std::byte* to, const std::byte* host, std::int64_t bytes) = 0;
  // The bytes are in `host` when the call returns.
  virtual void copy_out(std::byte* host, const std::byte* from, std::int64_t bytes) = 0;
  // Within the device; the two may overlap.
  virtual void copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual void fill_zeros(std::byte* at, std::int64_t bytes) = 0;
  // result[i] = so_far[i] + own[i], or the greater of them, so_far[i] where they are equal;
  // `result` may be either operand. bf16 is added in fp32 and rounded once, to nearest even.
  virtual void reduce(Combination combination, std::byte* result, const std::byte* so_far,
                      const std::byte* own, std::int64_t elements) = 0;
  virtual void finish() = 0;

 protected:
  virtual std::byte* take(std::int64_t bytes) = 0;
  virtual void give_back(std::byte* data) noexcept = 0;

 private:
  friend struct DeviceBlock::GiveBack;
};

// What the host reads and writes of a device's memory: in place where it reaches so far, in a copy
// elsewhere. What a call returns is good until the next.
class HostView {
 public:
  explicit HostView(DeviceMemory& memory) : memory_(memory) {}

  const std::byte* read(const std::byte* at, std::int64_t bytes);
  // To be filled as a whole. It is the device's after close().
  std::byte* open(std::byte* at, std::int64_t bytes);
  void close();

 private:
  bool in_place() const { return memory_.reach() == MemoryReach::host; }
  std::byte* copy_of(std::int64_t bytes);

  DeviceMemory& memory_;
  std::unique_ptr<std::byte[]> copy_;
  std::int64_t room_ = 0;
  std::byte* opened_ = nullptr;
  std::int64_t opened_bytes_ = 0;
};

}  // namespace fourfold::inline engine
