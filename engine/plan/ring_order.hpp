// The order in which our ring collectives add, as pure functions: what a referee needs to sum the
// same numbers to the same bits.
//
// A buffer of `elements` is cut into one chunk a member; chunk i is what member i holds after a
// reduce-scatter, its piece. An all-reduce is a reduce-scatter and an all-gather with these very
// chunks. Chunk c sets out from member c + 1 and goes once around the ring, each member adding its
// own, until member c adds the last one:
//
//   sum of chunk c = ((x[c+1] + x[c+2]) + ...) + x[c]        members modulo their number
//
// Example, 3 members: chunk 0 is (x1 + x2) + x0, chunk 1 is (x2 + x0) + x1, chunk 2 (x0 + x1) + x2.
//
// Each addition is one fp32 addition. Where the buffer is bf16, its result is rounded to bf16 (to
// nearest, ties to even) before the next addition, because that is what the next member receives. A
// maximum takes std::max(so far, own) instead. The transport by windows adds in the same order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fourfold::inline engine::inline plan {

// Elements [first, first + elements) of a buffer.
struct RingChunk {
  std::int64_t first = 0;
  std::int64_t elements = 0;
};

// Elements of a piece, padding included.
constexpr std::int64_t ring_piece(std::int64_t elements, std::int64_t members) {
  return (elements + members - 1) / members;
}

// Without padding: the last chunks may be shorter, or empty.
// Example: 11 elements over 4 members are chunks of 3, 3, 3 and 2; 5 are 2, 2, 1 and 0.
constexpr RingChunk ring_chunk(std::int64_t elements, std::int64_t members, std::int64_t chunk) {
  const std::int64_t piece = ring_piece(elements, members);
  const std::int64_t first = std::min(chunk * piece, elements);
  return {first, std::min(piece, elements - first)};
}

// The member whose contribution to `chunk` comes in the given place, 0 to members - 1.
constexpr std::int64_t ring_member(std::int64_t members, std::int64_t chunk, std::int64_t place) {
  return (chunk + 1 + place) % members;
}

}  // namespace fourfold::inline engine::inline plan
