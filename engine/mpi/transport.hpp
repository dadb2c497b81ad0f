// What moves the bytes of one channel: collectives in the order they are started, moved on by
// whoever has time. Transports differ only in how one collective is done.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/communicator.hpp"
#include "engine/mpi/handles.hpp"
#include "engine/mpi/staging.hpp"

namespace fourfold::inline engine::inline mpi {

class ChannelTransport {
 public:
  // Operands are in the device's memory, which must outlive the transport.
  ChannelTransport(MpiCommunicator line, DeviceMemory& memory);
  virtual ~ChannelTransport() = default;
  ChannelTransport(const ChannelTransport&) = delete;
  ChannelTransport& operator=(const ChannelTransport&) = delete;

  std::int64_t size() const { return size_; }
  std::int64_t position() const { return position_; }
  // As Communicator::prepare().
  virtual void prepare(const std::vector<CollectiveCall>& /*calls*/) {}
  // Throws std::invalid_argument if the extents or precisions of the operands do not fit.
  Post start(const CollectiveCall& call);
  // Does what can be done without waiting; true if that was anything.
  bool advance();
  bool idle() const { return finished_ == started_; }
  // All collectives up to this one are finished.
  Post finished() const { return finished_; }
  // That went through buffers of the host so far.
  virtual std::int64_t staged_bytes() const { return staging_.bytes(); }

 protected:
  MPI_Comm line() const { return line_.get(); }
  DeviceMemory& memory() { return memory_; }
  Staging& staging() { return staging_; }
  // Sets out with the oldest unfinished collective; only ever one at a time.
  virtual void begin(const CollectiveCall& call) = 0;
  virtual bool step() = 0;  // true if anything has moved
  virtual bool done() const = 0;

  // What is neither sent nor computed: a member's own piece of an all-gather, and the padding of a
  // reduce-scatter.
  void place_own_piece(const CollectiveCall& call);
  void clear_padding(const CollectiveCall& call);
  // Of collectives that do not go around: what a member has for itself.
  void place_own_part(const CollectiveCall& call);

 private:
  void copy_alone(const CollectiveCall& call);

  MpiCommunicator line_;
  DeviceMemory& memory_;
  Staging staging_;
  std::int64_t size_ = 1, position_ = 0;
  std::deque<CollectiveCall> waiting_;  // the first one has begun
  Post started_ = 0, finished_ = 0;
};

}  // namespace fourfold::inline engine::inline mpi
