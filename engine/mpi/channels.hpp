// All communicators of a rank, one a channel of the program, and what makes them progress while
// the rank computes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/communicator.hpp"
#include "engine/mpi/transport_choice.hpp"
#include "engine/mpi/waits.hpp"
#include "schedule/program/channel.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold::inline engine::inline mpi {

// When collectives advance beside compute: between tiles of kernels, in a thread, or only in waits.
// A wait for one channel moves all of them on. In mode `thread`, this rank may use MPI for other
// things only while no channel has anything under way.
enum class ProgressMode : std::uint8_t { tiles, thread, none };

const char* name(ProgressMode mode);
// Throws std::invalid_argument that lists the known names.
ProgressMode parse_progress_mode(const std::string& text);

class Channels {
 public:
  // Makes a communicator for each channel of this rank's list, which may be another one on another
  // stage, and nothing else; messages between stages always go through the MPI library. Collective
  // over MPI_COMM_WORLD, whose size must be the grid's; throws std::invalid_argument otherwise, or
  // if a window is asked for between nodes. Operands are in the memory, which must outlive the
  // channels.
  Channels(const ProcessGrid& grid, const std::vector<Channel>& list, TransportKind transport,
           ProgressMode mode, DeviceMemory& memory);
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  // Those of all ranks, the same on each: rank 0's, then what others have beside them.
  const std::vector<Channel>& list() const { return list_; }
  // Throws std::invalid_argument if this rank has none.
  Communicator& operator[](const Channel& channel);
  // Of each channel of this rank's program, which may have fewer than its list, by its number
  // there.
  std::vector<Communicator*> communicators(const std::vector<Channel>& of_program);
  // Of transport auto, on this rank: what was chosen, by collective, and what an earlier run chose,
  // to be taken instead of timing.
  std::vector<TransportChoice> choices();
  void remember(const std::vector<TransportChoice>& choices);
  // That went through buffers of the host so far, in both directions, because MPI does not reach
  // the device's memory.
  std::int64_t staged_bytes();
  // What a kernel calls between tiles: moves all channels on in mode `tiles`, unless nothing moved
  // a moment ago; does nothing otherwise.
  void between_tiles();
  // Of this rank, for the others; whoever watches it may look at any time.
  const Waits& waits() const { return waits_; }

 private:
  class LockedChannel;
  class Movement;
  std::vector<Channel> list_;
  ProgressMode mode_;
  std::chrono::steady_clock::time_point next_look_;
  Waits waits_;
  std::unique_ptr<Movement> movement_;
  std::vector<std::unique_ptr<Communicator>> communicators_;  // by place on the list; null: none
};

}  // namespace fourfold::inline engine::inline mpi
