// The state machine of a ring; see ring_transport.hpp and, for the rounds, ring_cursor.hpp.
#include "engine/mpi/ring_transport.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

constexpr int ring_tag = 1;  // messages of one channel are told apart by their order alone

// What is staged is cut as short as what is added, or its buffers would be as large as the rest.
RingTransport::Segments segments_for(const DeviceMemory& memory, RingTransport::Segments wanted) {
  if (memory.reach() == MemoryReach::device) wanted.stored = std::min(wanted.stored, wanted.added);
  return wanted;
}

}  // namespace

RingTransport::RingTransport(MpiCommunicator line, DeviceMemory& device, Segments segments)
    : ChannelTransport(std::move(line), device), segments_(segments_for(device, segments)) {
  if (size() > 1) partial_sums_ = device.allocate(depth * segments_.added);
}

void RingTransport::begin(const CollectiveCall& call) {
  call_ = call;
  width_ = bytes_per_element(call.send.precision);
  kind_ = &row_of(call.kind);
  if (!goes_around()) {
    place_own_part(call);
    const bool pipelined = kind_->motion == Motion::onward;
    exchange_.begin(means(), call, pipelined ? segments_.added : segments_.stored);
    return;
  }
  RingWalk walk;
  walk.elements = whole_of(call);
  walk.members = size();
  walk.rounds = kind_->passes() * (size() - 1);
  walk.adding_rounds = kind_->reduces() ? size() - 1 : 0;
  walk.added_segment = segments_.added / width_;
  walk.stored_segment = segments_.stored / width_;

  const std::int64_t first_sent = kind_->reduces() ? position() - 1 : position();
  posted_ = arrived_ = RingCursor(walk, first_sent - 1);
  ready_ = sent_ = RingCursor(walk, first_sent);
  posted_count_ = arrived_count_ = ready_count_ = sent_count_ = 0;

  if (!kind_->reduces()) place_own_piece(call);
  if (!kind_->spreads()) clear_padding(call);
}

bool RingTransport::step() {
  if (!goes_around()) return exchange_.step(means());
  bool moved = post_receives();
  moved |= take_arrivals();
  moved |= post_sends();
  moved |= retire_sends();
  return moved;
}

// There is room for a message that is to be added. An all-reduce stores sums, n - 1 rounds later,
// where it has sent partial sums from: those must have left.
bool RingTransport::may_receive() const {
  if (posted_.done() || posted_count_ - arrived_count_ == depth) return false;
  if (kind_->passes() == 1 || posted_.adds()) return true;
  return sent_.passed(posted_.round() - (size() - 1), posted_.end());
}

// After its own chunk a member passes on what has arrived.
bool RingTransport::may_send() const {
  if (ready_.done() || ready_count_ - sent_count_ == depth) return false;
  return ready_.round() == 0 || arrived_.passed(ready_.round() - 1, ready_.end());
}

std::byte* RingTransport::place(const Tensor& tensor, std::int64_t element) const {
  return tensor.data + element * width_;
}

std::byte* RingTransport::partial_sum(std::int64_t message) const {
  return partial_sums_.data() + message % depth * segments_.added;
}

std::byte* RingTransport::receive_place(const RingCursor& cursor, std::int64_t message) const {
  return cursor.adds() ? partial_sum(message) : place(call_.receive, cursor.segment().first);
}

// Where the sum of an arrived segment goes: a reduce-scatter may overwrite what it sends, but for
// the last round, which brings this member's piece.
std::byte* RingTransport::sum_place(const RingCursor& cursor) const {
  if (kind_->spreads()) return place(call_.receive, cursor.segment().first);
  if (cursor.round() == size() - 2) return place(call_.receive, cursor.offset());
  return place(call_.send, cursor.segment().first);
}

std::byte* RingTransport::send_place(const RingCursor& cursor) const {
  const bool from_send = !kind_->spreads() || (kind_->reduces() && cursor.round() == 0);
  return place(from_send ? call_.send : call_.receive, cursor.segment().first);
}

bool RingTransport::post_receives() {
  bool moved = false;
  const int from = static_cast<int>((position() + size() - 1) % size());
  while (may_receive()) {
    const std::int64_t bytes = posted_.segment().elements * width_;
    const auto slot = static_cast<std::size_t>(posted_count_ % depth);
    std::byte* const into = staging().incoming(slot, receive_place(posted_, posted_count_), bytes);
    check_mpi(MPI_Irecv(into, mpi_count(bytes), MPI_BYTE, from, ring_tag, line(),
                        receives_[slot].address()),
              "MPI_Irecv");
    posted_.next();
    ++posted_count_;
    moved = true;
  }
  return moved;
}

bool RingTransport::take_arrivals() {
  bool moved = false;
  while (arrived_count_ < posted_count_ &&
         completed(receives_[static_cast<std::size_t>(arrived_count_ % depth)])) {
    const RingChunk segment = arrived_.segment();
    staging().arrived(static_cast<std::size_t>(arrived_count_ % depth),
                      receive_place(arrived_, arrived_count_), segment.elements * width_);
    if (arrived_.adds()) {
      memory().reduce({call_.owed, call_.send.precision}, sum_place(arrived_),
                      partial_sum(arrived_count_), place(call_.send, segment.first),
                      segment.elements);
    }
    arrived_.next();
    ++arrived_count_;
    post_sends();  // before the next sum: the successor is waiting for this one
    moved = true;
  }
  return moved;
}

bool RingTransport::post_sends() {
  bool moved = false;
  const int to = static_cast<int>((position() + 1) % size());
  while (may_send()) {
    const std::int64_t bytes = ready_.segment().elements * width_;
    const auto request = static_cast<std::size_t>(ready_count_ % depth);
    const std::byte* const from = staging().outgoing(depth + request, send_place(ready_), bytes);
    check_mpi(MPI_Isend(from, mpi_count(bytes), MPI_BYTE, to, ring_tag, line(),
                        sends_[request].address()),
              "MPI_Isend");
    ready_.next();
    ++ready_count_;
    moved = true;
  }
  return moved;
}

bool RingTransport::retire_sends() {
  bool moved = false;
  while (sent_count_ < ready_count_ &&
         completed(sends_[static_cast<std::size_t>(sent_count_ % depth)])) {
    sent_.next();
    ++sent_count_;
    moved = true;
  }
  return moved;
}

}  // namespace fourfold::inline engine::inline mpi
