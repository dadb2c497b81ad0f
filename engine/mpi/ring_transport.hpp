// Rings over point-to-point messages: sums in a fixed order (engine/ring_order.hpp), in bounded
// memory, moved on whenever asked.
#pragma once

#include <array>
#include <memory>

#include "engine/mpi/combine.hpp"
#include "engine/mpi/ring_cursor.hpp"
#include "engine/mpi/transport.hpp"

namespace fourfold {

class RingTransport final : public LaneTransport {
 public:
  explicit RingTransport(MpiCommunicator line);

 private:
  // Messages under way in each direction, and the bytes of one. A segment, its addend and its sum
  // stay in a core's cache while the next ones arrive.
  static constexpr std::int64_t depth = 4;
  static constexpr std::int64_t segment_bytes = 256 << 10;

  void begin(const CollectiveCall& call) override;
  bool step() override;
  bool done() const override { return arrived_.done() && sent_.done(); }

  bool post_receives();
  bool take_arrivals();
  bool post_sends();
  bool retire_sends();

  bool adds(const RingCursor& cursor) const;
  bool overwrites_unsent(const RingCursor& cursor) const;
  std::byte* place(const Tensor& tensor, std::int64_t element) const;
  std::byte* staging(std::int64_t message) const;
  std::byte* sum_place(const RingCursor& cursor) const;
  std::byte* send_place(const RingCursor& cursor) const;

  CollectiveCall call_;
  std::int64_t width_ = 4;  // bytes of an element
  RingCursor posted_;       // the next segment to post a receive for
  RingCursor arrived_;      // the next segment to take in
  RingCursor ready_;        // the next segment to send
  RingCursor sent_;         // the oldest segment still being sent
  // How many segments each cursor has passed, and how many this member may send: its own chunk's at
  // first, and one more with each arrival.
  std::int64_t posted_count_ = 0, arrived_count_ = 0, ready_count_ = 0, sent_count_ = 0;
  std::int64_t sendable_ = 0;
  // The memory outlives the requests that use it.
  std::unique_ptr<std::byte[]> staging_;
  std::array<MpiRequest, depth> receives_, sends_;
};

}  // namespace fourfold
