// Collectives through memory that the ranks of a node share: no message, one copy in and one copy
// out. Sums are the ring's, bit by bit (engine/plan/ring_order.hpp).
#pragma once

#include <atomic>
#include <vector>

#include "engine/mpi/transport.hpp"
#include "engine/plan/ring_order.hpp"

namespace fourfold::inline engine::inline mpi {

// A collective goes in blocks: block b is the b-th stretch of every chunk at once. For each, a
// member does three things, as far as the kind of collective needs them:
//
//   offer    copies its share of the others' chunks to its inbox area; not of an all-gather
//   reduce   adds its own chunk's shares of all members, in the ring's order; an all-reduce writes
//            the sum to its result area too, an all-gather its own piece, waiting for nobody
//   collect  copies the others' results out; not of a reduce-scatter
//
// Of what does not go around, a member offers to each other what is for that one, the first member
// of a broadcast all that it has, and collects what the others have offered to it.
//
// It tells the others by a counter of blocks. Areas hold `slots` blocks in turn; a slot is used
// again when all members have collected what was in it, so a window of fixed size does for any
// message. Counters never start again: a channel's collectives are in order on all members.
class WindowTransport final : public ChannelTransport {
 public:
  // `slot_bytes`: of a member's shares in one slot, for all the others together.
  // Collective over the line; throws std::invalid_argument if it spans nodes, or if the device's
  // memory is none that ranks can share.
  WindowTransport(MpiCommunicator line, DeviceMemory& memory)
      : WindowTransport(std::move(line), memory, 256 << 10) {}
  WindowTransport(MpiCommunicator line, DeviceMemory& memory, std::int64_t slot_bytes);
  // Whether there can be one: all members are on one node, and their memory is the processor's.
  // Collective over the line.
  static bool possible(MPI_Comm line, const DeviceMemory& memory);

 private:
  static constexpr std::int64_t slots = 4;
  static constexpr std::size_t cache_line = 64;

  // Blocks that a member is through with, since the channel began.
  struct Counters {
    alignas(cache_line) std::atomic<std::int64_t> offered;
    alignas(cache_line) std::atomic<std::int64_t> reduced;
    alignas(cache_line) std::atomic<std::int64_t> collected;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);

  void begin(const CollectiveCall& call) override;
  bool step() override;
  bool done() const override { return collected_ == last_; }

  bool offer();
  bool reduce();
  bool collect();

  bool goes_around() const { return kind_->motion == Motion::around; }
  std::int64_t longest_part() const;
  // Elements of a block of such a stretch.
  RingChunk within(const RingChunk& stretch, std::int64_t block) const;
  // Of a broadcast part `chunk` of the buffer, else what goes from one member to another.
  RingChunk offered_to(std::int64_t other) const;
  RingChunk collected_from(std::int64_t other) const;
  void offer_parts();
  bool parts_are_there() const;
  void collect_parts();

  bool all_reached(std::atomic<std::int64_t> Counters::*counter, std::int64_t block) const;
  // Part of chunk `chunk` that belongs to the channel's block `block`, in elements of the whole.
  struct BlockSpan {
    std::int64_t first = 0, elements = 0, offset = 0;
  };
  BlockSpan stretch(std::int64_t block, std::int64_t chunk) const;
  std::byte* share(std::int64_t member, std::int64_t block, std::int64_t chunk) const;
  std::byte* result(std::int64_t member, std::int64_t block) const;

  CollectiveCall call_;
  const KindRow* kind_ = nullptr;  // the call's
  std::int64_t width_ = 4;
  std::int64_t elements_ = 0;  // of the whole
  std::int64_t share_bytes_ = 0;
  // Channel-wide numbers of blocks: the call's are first_ to last_ - 1.
  std::int64_t first_ = 0, last_ = 0;
  std::int64_t offered_ = 0, reduced_ = 0, collected_ = 0;
  std::vector<Counters*> counters_;  // by member, in the window
  std::vector<std::byte*> areas_;    // by member: shares, then results
  MpiWindow window_;
};

}  // namespace fourfold::inline engine::inline mpi
