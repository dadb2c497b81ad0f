// A communicator of one channel: the collectives and messages between this rank and the others of
// its group along the channel's axis, in the order they are started. Narrow, so that another
// library can stand behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend.hpp"
#include "schedule/collectives/collective.hpp"
#include "schedule/program/sharding.hpp"

namespace fourfold::inline engine {

// One collective of one channel. `send` and `receive` have one precision; sums of bf16 are formed
// in fp32 hop by hop and sent in bf16.
//   all_reduce      equal extents; receive may be send's memory
//   all_gather      send: this member's flat piece; receive: the whole, pieces in member order
//   reduce_scatter  send: the whole, which may be overwritten; receive: this member's piece
//   send            equal extents; of two members the first sends and the second receives, and only
//                   what it needs of the two is looked at
//   all_to_all      equal extents, of a part for each member: part j of `send` goes to member j,
//                   part i of `receive` comes from member i
//   all_to_all_v    equal extents, on all members: room for parts of the sizes that `to` and `from`
//                   say, one after the other
//   broadcast       equal extents: the first member's `send` comes to all; receive may be its
//                   memory
//   neighbour_exchange  `receive` has room for two edges: the first elements of the send of the
//                   member after come second, the last ones of the member before first; what
//                   would come from a member that is not there stays as it is
// A piece has ceil(whole / size) elements. The last ones may be shorter: only what lies within the
// whole is sent, and the rest of the piece (padding) is zero after a reduce_scatter.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Owed owed = Owed::sum;
  Tensor send, receive;
  std::vector<std::int64_t> to = {}, from = {};  // of unequal parts: elements, by member
};

// Elements of the whole.
inline std::int64_t whole_of(const CollectiveCall& call) {
  return (row_of(call.kind).gets == Portion::part ? call.send : call.receive).size();
}

// Which of a channel's collectives: they are numbered from 1 in the order they were started.
using Post = std::int64_t;

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t position() const = 0;  // of this rank in its group
  // Which collectives will come, so that the fastest way can be found beforehand; their addresses
  // are not looked at. Collective over the group, while nothing is under way.
  virtual void prepare(const std::vector<CollectiveCall>& /*calls*/) {}
  // Returns at once; the memory of both operands belongs to the communicator until it is finished.
  // With one member the result is there at once (a copy, or nothing if the memory is the same).
  virtual Post start(const CollectiveCall& call) = 0;
  // Moves on what is under way, without blocking. False when nothing is.
  virtual bool progress() = 0;
  // Whether it is finished; moves everything on that this rank has under way.
  virtual bool finished(Post post) = 0;
  virtual void finish(Post post) = 0;
};

}  // namespace fourfold::inline engine
