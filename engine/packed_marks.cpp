// Copies between a matrix and a room; see packed_marks.hpp.
#include "engine/packed_marks.hpp"

#include "engine/plan/marked_blocks.hpp"

namespace fourfold::inline engine {

namespace {

using plan::work::Copies;

using BlocksOf = std::vector<std::vector<std::int64_t>>;  // by member

BlocksOf read(DeviceMemory& memory, const Tensor& marks, std::int64_t members, bool by_rows) {
  const std::vector<std::int32_t> values = whole_numbers_of(memory, marks);
  return plan::marked_blocks({values, marks.cols, members, by_rows});
}

// Elements of each member's part.
std::vector<std::int64_t> parts(const BlocksOf& blocks, std::int64_t block) {
  std::vector<std::int64_t> elements;
  for (const auto& of_member : blocks) elements.push_back(std::ssize(of_member) * block);
  return elements;
}

// Between a matrix and a room where its marked blocks stand one after the other.
Copies places(const BlocksOf& blocks, const Tensor& matrix, const Tensor& room, std::int64_t block,
              bool into_room) {
  Copies copies;
  std::int64_t first = 0;
  for (const auto& of_member : blocks) {
    for (const std::int64_t number : of_member) {
      const Tensor there = matrix.stretch(number * block, block);
      const Tensor here = room.stretch(first, block);
      copies.push_back(into_room ? std::pair{there, here} : std::pair{here, there});
      first += block;
    }
  }
  return copies;
}

}  // namespace

void make_copies(DeviceMemory& memory, const plan::work::Copies& copies) {
  for (const auto& [from, to] : copies) memory.copy(to.data, from.data, from.bytes());
}

void send_marked(DeviceMemory& memory, const plan::work::MarkedExchange& exchange,
                 CollectiveCall& call) {
  const std::int64_t block = exchange.from.size() / exchange.marks.size();
  const BlocksOf sent = read(memory, exchange.marks, exchange.members, exchange.from_rows);
  make_copies(memory, places(sent, exchange.from, exchange.sent_room, block, true));
  call.to = parts(sent, block);
  call.from = parts(read(memory, exchange.arriving, exchange.members, !exchange.from_rows), block);
}

void place_marked(DeviceMemory& memory, const plan::work::MarkedExchange& exchange) {
  const std::int64_t block = exchange.to.size() / exchange.arriving.size();
  const BlocksOf arrived = read(memory, exchange.arriving, exchange.members, !exchange.from_rows);
  memory.fill_zeros(exchange.to.data, exchange.to.bytes());
  make_copies(memory, places(arrived, exchange.to, exchange.received_room, block, false));
}

}  // namespace fourfold::inline engine
