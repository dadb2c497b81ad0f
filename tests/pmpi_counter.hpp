// Counts what is handed to MPI, by communicator, in every test program that links the .cpp beside
// it: it stands in front of the library's functions through MPI's profiling interface (PMPI).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fourfold::tests {

// Bytes by the name of the communicator, which Channels gives as "channel x", "channel z_gather",
// ...
struct MpiTraffic {
  std::int64_t messages = 0;       // of MPI_Isend
  std::int64_t sent = 0;           // bytes of MPI_Isend
  std::int64_t collectives = 0;    // MPI_Iallreduce, MPI_Iallgatherv, MPI_Ireduce_scatter
  std::int64_t whole_buffers = 0;  // bytes of theirs: of an all-gather what is received
  // Messages handed over in memory that one under way, in the other direction, still uses: MPI
  // forbids that, although it may well go right.
  std::int64_t clashes = 0;
};

// Since the last reset, on this rank. Not for use while another thread is inside MPI.
const std::map<std::string, MpiTraffic>& mpi_traffic();
void reset_mpi_traffic();

}  // namespace fourfold::tests
