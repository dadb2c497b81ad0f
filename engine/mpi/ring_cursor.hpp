// The order of the segments in which a member of a ring sends, and in which it receives: which part
// of the buffer travels in which message.
//
// Going around the ring takes rounds; in each, a member passes on one chunk. What it passes on in
// round r + 1 is what it received in round r, so that the stream it sends is one chunk of its own,
// followed by all it receives but the last round. With n members, member m receives in round r
//
//   reduce-scatter  chunk m - 2 - r   added to its own, n - 1 rounds; its own chunk m comes last
//   all-gather      chunk m - 1 - r   stored, n - 1 rounds
//   all-reduce      chunk m - 2 - r   added for n - 1 rounds, then stored for n - 1 rounds
//
// modulo n, and sends in round r the chunk after that one. Chunks travel in segments, so that
// adding one overlaps with receiving the next; empty chunks send nothing.
#pragma once

#include <cstdint>

#include "engine/plan/ring_order.hpp"

namespace fourfold::inline engine::inline mpi {

struct RingWalk {
  std::int64_t elements = 0;  // of the whole buffer
  std::int64_t members = 1;
  std::int64_t rounds = 0;
  std::int64_t adding_rounds = 0;  // the first of them
  // Most elements of one message in rounds that add, and in rounds that store.
  std::int64_t added_segment = 1, stored_segment = 1;
};

class RingCursor {
 public:
  RingCursor() = default;
  // `first` is the chunk of round 0, which may be negative: chunks count modulo the members.
  RingCursor(const RingWalk& walk, std::int64_t first)
      : walk_(walk), chunk_index_((first % walk.members + walk.members) % walk.members) {
    enter();
  }

  bool done() const { return round_ == walk_.rounds; }
  std::int64_t round() const { return round_; }
  std::int64_t offset() const { return offset_; }  // of the segment in its chunk
  bool adds() const { return round_ < walk_.adding_rounds; }
  // The segment's place in the buffer.
  RingChunk segment() const {
    return {chunk_.first + offset_, std::min(longest(), chunk_.elements - offset_)};
  }
  std::int64_t end() const { return offset_ + segment().elements; }  // in its chunk
  // Whether this cursor has left behind the first `end` elements of what travels in `round`.
  bool passed(std::int64_t round, std::int64_t end) const {
    return round_ > round || (round_ == round && offset_ >= end);
  }
  void next() {
    offset_ += longest();
    if (offset_ < chunk_.elements) return;
    leave();
    enter();
  }

 private:
  std::int64_t longest() const { return adds() ? walk_.added_segment : walk_.stored_segment; }
  void leave() {
    ++round_;
    chunk_index_ = (chunk_index_ + walk_.members - 1) % walk_.members;
    offset_ = 0;
  }
  void enter() {
    while (!done()) {
      chunk_ = ring_chunk(walk_.elements, walk_.members, chunk_index_);
      if (chunk_.elements > 0) return;
      leave();
    }
  }

  RingWalk walk_;
  std::int64_t round_ = 0;
  std::int64_t chunk_index_ = 0;
  std::int64_t offset_ = 0;
  RingChunk chunk_;
};

}  // namespace fourfold::inline engine::inline mpi
