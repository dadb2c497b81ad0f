// Collectives that move and do not add, as point-to-point messages: a list of what is received and
// one of what is sent, each walked in its order, with a few messages under way.
#pragma once

#include <array>
#include <vector>

#include "engine/communicator.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/mpi/staging.hpp"

namespace fourfold::inline engine::inline mpi {

class Exchange {
 public:
  // Where it happens; all must outlive it.
  struct Means {
    MPI_Comm line;
    Staging& staging;
    std::int64_t members = 1, position = 0;
  };

  // Messages have at most so many bytes. A broadcast of more than one message goes along the line,
  // message by message; else each member that has it sends to one that lies half as far as the
  // last.
  void begin(const Means& means, const CollectiveCall& call, std::int64_t message_bytes);
  bool step(const Means& means);  // true if anything has moved
  bool done() const { return arrived_ == receives_.size() && sent_ == sends_.size(); }

 private:
  static constexpr std::size_t depth = 4;  // messages under way in each direction

  struct Message {
    std::int64_t peer = 0;
    std::byte* at = nullptr;
    std::int64_t bytes = 0;
    std::size_t after = 0;  // of a send: so many receives must have come
  };

  void add(std::vector<Message>& list, const Message& whole, std::int64_t message_bytes);
  void plan_pairs(const Means& means, const CollectiveCall& call, std::int64_t message_bytes);
  void plan_broadcast(const Means& means, const CollectiveCall& call, std::int64_t message_bytes);

  std::vector<Message> receives_, sends_;
  std::size_t posted_ = 0, arrived_ = 0, ready_ = 0, sent_ = 0;
  std::array<MpiRequest, depth> incoming_, outgoing_;
};

}  // namespace fourfold::inline engine::inline mpi
