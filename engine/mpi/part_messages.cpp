// Lists of messages, and how they are walked; see part_messages.hpp.
#include "engine/mpi/part_messages.hpp"

#include <algorithm>
#include <bit>

#include "engine/plan/shares.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

constexpr int exchange_tag = 2;  // messages of one channel are told apart by their order alone

}  // namespace

void Exchange::add(std::vector<Message>& list, const Message& whole, std::int64_t message_bytes) {
  for (std::int64_t first = 0; first < whole.bytes; first += message_bytes) {
    list.push_back(
        {whole.peer, whole.at + first, std::min(message_bytes, whole.bytes - first), whole.after});
  }
}

// The k-th message to a member is the k-th that it receives from this one: both lists go by how far
// apart the two are.
void Exchange::plan_pairs(const Means& means, const CollectiveCall& call,
                          std::int64_t message_bytes) {
  const std::int64_t width = bytes_per_element(call.send.precision);
  for (std::int64_t shift = 1; shift < means.members; ++shift) {
    const std::int64_t to = (means.position + shift) % means.members;
    const std::int64_t from = (means.position + means.members - shift) % means.members;
    const RingChunk sent = sent_to(call, means.members, means.position, to);
    const RingChunk received = received_from(call, means.members, means.position, from);
    add(sends_, {to, call.send.data + sent.first * width, sent.elements * width}, message_bytes);
    add(receives_, {from, call.receive.data + received.first * width, received.elements * width},
        message_bytes);
  }
}

void Exchange::plan_broadcast(const Means& means, const CollectiveCall& call,
                              std::int64_t message_bytes) {
  const std::int64_t bytes = call.receive.bytes();
  const bool first = means.position == 0;
  std::byte* const own = first ? call.send.data : call.receive.data;
  if (bytes > message_bytes) {
    if (!first) add(receives_, {means.position - 1, own, bytes}, message_bytes);
    if (means.position + 1 < means.members) {
      add(sends_, {means.position + 1, own, bytes}, message_bytes);
    }
    for (std::size_t i = 0; i < sends_.size() && !first; ++i) sends_[i].after = i + 1;
    return;
  }
  const auto place = static_cast<std::uint64_t>(means.position);
  const auto nearest = static_cast<std::int64_t>(
      first ? std::bit_ceil(static_cast<std::uint64_t>(means.members)) : place & -place);
  if (!first) add(receives_, {means.position - nearest, own, bytes}, message_bytes);
  for (std::int64_t distance = nearest / 2; distance >= 1; distance /= 2) {
    if (means.position + distance >= means.members) continue;
    add(sends_, {means.position + distance, own, bytes, receives_.size()}, message_bytes);
  }
}

void Exchange::begin(const Means& means, const CollectiveCall& call, std::int64_t message_bytes) {
  receives_.clear();
  sends_.clear();
  posted_ = arrived_ = ready_ = sent_ = 0;
  if (row_of(call.kind).motion == Motion::onward) {
    plan_broadcast(means, call, message_bytes);
  } else {
    plan_pairs(means, call, message_bytes);
  }
}

bool Exchange::step(const Means& means) {
  bool moved = false;
  for (; posted_ < receives_.size() && posted_ - arrived_ < depth; ++posted_, moved = true) {
    const Message& message = receives_[posted_];
    const std::size_t slot = posted_ % depth;
    std::byte* const into = means.staging.incoming(slot, message.at, message.bytes);
    check_mpi(MPI_Irecv(into, mpi_count(message.bytes), MPI_BYTE, static_cast<int>(message.peer),
                        exchange_tag, means.line, incoming_[slot].address()),
              "MPI_Irecv");
  }
  for (; arrived_ < posted_ && completed(incoming_[arrived_ % depth]); ++arrived_, moved = true) {
    means.staging.arrived(arrived_ % depth, receives_[arrived_].at, receives_[arrived_].bytes);
  }
  for (; ready_ < sends_.size() && ready_ - sent_ < depth && sends_[ready_].after <= arrived_;
       ++ready_, moved = true) {
    const Message& message = sends_[ready_];
    const std::size_t slot = ready_ % depth;
    const std::byte* const from = means.staging.outgoing(depth + slot, message.at, message.bytes);
    check_mpi(MPI_Isend(from, mpi_count(message.bytes), MPI_BYTE, static_cast<int>(message.peer),
                        exchange_tag, means.line, outgoing_[slot].address()),
              "MPI_Isend");
  }
  for (; sent_ < ready_ && completed(outgoing_[sent_ % depth]); ++sent_) moved = true;
  return moved;
}

}  // namespace fourfold::inline engine::inline mpi
