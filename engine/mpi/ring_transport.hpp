// Rings over point-to-point messages: sums in a fixed order (engine/plan/ring_order.hpp), in
// bounded memory, moved on whenever asked. What does not go around is messages from its sender to
// its receiver (part_messages.hpp).
#pragma once

#include <array>

#include "engine/mpi/part_messages.hpp"
#include "engine/mpi/ring_cursor.hpp"
#include "engine/mpi/transport.hpp"

namespace fourfold::inline engine::inline mpi {

class RingTransport final : public ChannelTransport {
 public:
  // Most bytes of a message that is to be added, and of one that is to be stored. Shorter ones cost
  // more hand-shakes (microbench/engine_collectives.cpp).
  struct Segments {
    std::int64_t added = 1 << 20;
    std::int64_t stored = 16 << 20;
  };

  RingTransport(MpiCommunicator line, DeviceMemory& memory)
      : RingTransport(std::move(line), memory, Segments{}) {}
  RingTransport(MpiCommunicator line, DeviceMemory& memory, Segments segments);

 private:
  static constexpr std::int64_t depth = 4;  // messages under way in each direction

  void begin(const CollectiveCall& call) override;
  bool step() override;
  bool done() const override {
    return goes_around() ? arrived_.done() && sent_.done() : exchange_.done();
  }
  bool goes_around() const { return kind_->motion == Motion::around; }
  Exchange::Means means() { return {line(), staging(), size(), position()}; }

  bool post_receives();
  bool take_arrivals();
  bool post_sends();
  bool retire_sends();

  bool may_receive() const;
  bool may_send() const;
  std::byte* place(const Tensor& tensor, std::int64_t element) const;
  std::byte* partial_sum(std::int64_t message) const;
  std::byte* receive_place(const RingCursor& cursor, std::int64_t message) const;
  std::byte* sum_place(const RingCursor& cursor) const;
  std::byte* send_place(const RingCursor& cursor) const;

  Segments segments_;
  Exchange exchange_;
  CollectiveCall call_;
  const KindRow* kind_ = nullptr;  // the call's
  std::int64_t width_ = 4;         // bytes of an element
  RingCursor posted_;              // the next segment to post a receive for
  RingCursor arrived_;             // the next segment to take in
  RingCursor ready_;               // the next segment to send
  RingCursor sent_;                // the oldest segment still being sent
  // How many segments each cursor has passed.
  std::int64_t posted_count_ = 0, arrived_count_ = 0, ready_count_ = 0, sent_count_ = 0;
  // Partial sums that have come, to be added to. The memory outlives the requests that use it.
  DeviceBlock partial_sums_;
  std::array<MpiRequest, depth> receives_, sends_;
};

}  // namespace fourfold::inline engine::inline mpi
