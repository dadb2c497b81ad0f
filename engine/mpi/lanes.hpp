// All communicators of a rank, one a lane of the schedule, and what makes them progress while the
// rank computes.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/communicator.hpp"
#include "schedule/program/lane.hpp"

namespace fourfold {

// Who moves the bytes: our rings over point-to-point messages (sums in a fixed order), the MPI
// library's own non-blocking collectives, or a window of memory shared within a node.
enum class Transport : std::uint8_t { ring, library, window };
// When collectives advance beside compute: between tiles of kernels, in a thread, or only in waits.
// A wait for one lane moves all lanes on. In mode `thread`, this rank may use MPI for other things
// only while no lane has anything under way.
enum class ProgressMode : std::uint8_t { tiles, thread, none };

const char* name(Transport transport);
const char* name(ProgressMode mode);
// Throw std::invalid_argument that lists the known names.
Transport parse_transport(const std::string& text);
ProgressMode parse_progress_mode(const std::string& text);

class Lanes {
 public:
  // Collective over MPI_COMM_WORLD, whose size must be the grid's; throws std::invalid_argument
  // otherwise, or if a window is asked for between nodes.
  // Operands are in the memory, which must outlive the lanes.
  Lanes(const ProcessGrid& grid, Transport transport, ProgressMode mode, DeviceMemory& memory);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  Communicator& operator[](Lane lane);
  // That went through buffers of the host so far, in both directions, because MPI does not reach
  // the device's memory.
  std::int64_t staged_bytes();
  // What a kernel calls between tiles: moves all lanes on in mode `tiles`, unless nothing moved a
  // moment ago; does nothing otherwise.
  void between_tiles();

 private:
  class LockedLane;
  class Movement;
  ProgressMode mode_;
  std::chrono::steady_clock::time_point next_look_;
  std::unique_ptr<Movement> movement_;
};

}  // namespace fourfold
