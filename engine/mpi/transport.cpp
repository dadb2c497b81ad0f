// The queue of a channel and the local parts of a collective; see transport.hpp.
#include "engine/mpi/transport.hpp"

#include <stdexcept>

#include "engine/plan/shares.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

void check_parts(const CollectiveCall& call, std::int64_t members) {
  const std::string name = row_of(call.kind).name;
  if (call.kind == CollectiveKind::all_to_all && call.send.size() % members != 0) {
    throw std::invalid_argument(name + " of " + std::to_string(call.send.size()) +
                                " elements: they must be equal parts for " +
                                std::to_string(members) + " members");
  }
  if (call.kind != CollectiveKind::all_to_all_v) {
    if (call.to.empty() && call.from.empty()) return;
    throw std::invalid_argument(name + " has no list of parts: only an all-to-all-v has");
  }
  for (const std::vector<std::int64_t>* parts : {&call.to, &call.from}) {
    if (std::ssize(*parts) != members) {
      throw std::invalid_argument(name + " over " + std::to_string(members) +
                                  " members has a list of " + std::to_string(parts->size()) +
                                  " parts; it must have one for each member");
    }
    std::int64_t sum = 0;
    bool negative = false;
    for (std::int64_t part : *parts) {
      sum += part;
      negative |= part < 0;
    }
    if (negative || sum > call.send.size()) {
      throw std::invalid_argument(name + " of " + std::to_string(sum) +
                                  " elements: parts must not be negative, nor more than the room "
                                  "of " +
                                  std::to_string(call.send.size()));
    }
  }
}

void check_operands(const CollectiveCall& call, std::int64_t members) {
  const KindRow& kind = row_of(call.kind);
  if (kind.motion == Motion::one_way && members != 2) {
    throw std::invalid_argument("a message joins two members, not " + std::to_string(members));
  }
  const bool adds_whole_numbers = call.send.precision == Precision::int32 && kind.reduces();
  if (call.send.precision != call.receive.precision || adds_whole_numbers) {
    throw std::invalid_argument(
        std::string(name(call.kind)) + " from " + name(call.send.precision) + " to " +
        name(call.receive.precision) +
        ": both operands must be fp32, or both bf16; whole numbers are moved and not added");
  }
  const std::int64_t sent = call.send.size();
  const std::int64_t received = call.receive.size();
  const std::int64_t whole = whole_of(call);
  check_parts(call, members);
  if (kind.motion == Motion::neighbours) {
    if (received % 2 == 0 && sent >= received / 2) return;
    throw std::invalid_argument(std::string(kind.name) + " of " + std::to_string(sent) +
                                " elements into " + std::to_string(received) +
                                ": what is received has two edges, which must not be longer than "
                                "what is sent");
  }
  if (sent != elements_of(kind.brings, whole, members) ||
      received != elements_of(kind.gets, whole, members)) {
    throw std::invalid_argument(std::string(name(call.kind)) + " of " + std::to_string(sent) +
                                " elements into " + std::to_string(received) + " over " +
                                std::to_string(members) +
                                " members: a piece must have the whole divided by the members, "
                                "rounded up, and an all-reduce must have equal extents");
  }
}

}  // namespace

ChannelTransport::ChannelTransport(MpiCommunicator line, DeviceMemory& memory)
    : line_(std::move(line)),
      memory_(memory),
      staging_(memory),
      size_(size_of(line_.get())),
      position_(rank_in(line_.get())) {}

Post ChannelTransport::start(const CollectiveCall& call) {
  check_operands(call, size_);
  ++started_;
  if (size_ == 1) {
    copy_alone(call);
    ++finished_;
    return started_;
  }
  waiting_.push_back(call);
  if (waiting_.size() == 1) begin(call);
  advance();
  return started_;
}

bool ChannelTransport::advance() {
  if (idle()) return false;
  bool moved = step();
  while (!waiting_.empty() && done()) {
    waiting_.pop_front();
    ++finished_;
    moved = true;
    if (!waiting_.empty()) begin(waiting_.front());
  }
  return moved;
}

void ChannelTransport::place_own_piece(const CollectiveCall& call) {
  const RingChunk own = ring_chunk(call.receive.size(), size_, position_);
  const std::int64_t width = bytes_per_element(call.receive.precision);
  if (own.elements == 0) return;
  memory_.copy(call.receive.data + own.first * width, call.send.data, own.elements * width);
}

void ChannelTransport::clear_padding(const CollectiveCall& call) {
  const std::int64_t valid = ring_chunk(call.send.size(), size_, position_).elements;
  const std::int64_t width = bytes_per_element(call.receive.precision);
  if (valid == call.receive.size()) return;
  memory_.fill_zeros(call.receive.data + valid * width, (call.receive.size() - valid) * width);
}

void ChannelTransport::place_own_part(const CollectiveCall& call) {
  const std::int64_t width = bytes_per_element(call.receive.precision);
  const RingChunk own = sent_to(call, size_, position_, position_);
  std::byte* const to =
      call.receive.data + received_from(call, size_, position_, position_).first * width;
  const std::byte* const from = call.send.data + own.first * width;
  if (own.elements > 0 && to != from) memory_.copy(to, from, own.elements * width);
}

void ChannelTransport::copy_alone(const CollectiveCall& call) {
  const bool goes_around = row_of(call.kind).motion == Motion::around;
  if (!goes_around) return place_own_part(call);
  if (call.send.data == call.receive.data || call.send.size() == 0) return;
  memory_.copy(call.receive.data, call.send.data, call.send.bytes());
}

}  // namespace fourfold::inline engine::inline mpi
