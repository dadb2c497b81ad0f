// One file that all ranks have open through MPI-IO: collective access to runs of fp32 elements, and
// plain access to stretches. Every error is thrown where it was met; see agreement.hpp.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>

#include "engine/train/checkpoint_layout.hpp"

namespace fourfold {

// Elements that one round covers, of all ranks together: bounds the memory of buffers.
inline constexpr std::int64_t round_elements = std::int64_t{4} << 20;

enum class FileAccess : std::uint8_t { read, write };

class CheckpointFile {
 public:
  // Collective, and so is the destructor. The file must exist. Throws on all ranks alike.
  CheckpointFile(const std::string& path, FileAccess access);
  ~CheckpointFile();
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  // By one rank on its own, before the collective accesses.
  void write_bytes(std::int64_t first, const std::string& bytes);
  std::string read_bytes(std::int64_t first, std::int64_t count);
  void read_elements(std::int64_t first_byte, std::span<float> elements);

  // Collective, since views are, but every rank moves its own runs: when a write fails within Open
  // MPI 4.1's MPI_File_write_at_all on one rank, the others wait for it forever. Also for ranks
  // without runs: the runs of a round, one after the other in `values`.
  // Their elements count from `first_element`, which lies at `first_byte` of the file.
  struct Round {
    std::int64_t first_byte = 0;
    std::int64_t first_element = 0;
    std::span<const Run> runs;
  };
  void write_round(const Round& round, std::span<const float> values);
  void read_round(const Round& round, std::span<float> values);

  // Collective: returns when the disk has it.
  void sync();

 private:
  void expect(int code, const char* what) const;
  void expect_count(MPI_Status& status, MPI_Datatype type, std::int64_t count) const;
  void show(const Round& round);

  std::string path_;
  FileAccess access_ = FileAccess::read;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace fourfold
