// One file that all ranks have open through MPI-IO, each to access stretches of it. Every error is
// thrown where it was met; see agreement.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/mpi/library.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

enum class FileAccess : std::uint8_t { read, write };

class CheckpointFile {
 public:
  // Collective, and so is the destructor. The file must exist. Throws on all ranks alike.
  CheckpointFile(const std::string& path, FileAccess access);
  ~CheckpointFile();
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  // By each rank on its own. Within Open MPI 4.1's MPI_File_write_at_all, a write that fails on one
  // rank leaves the others waiting for it forever.
  void write_bytes(std::int64_t first, const std::string& bytes);
  // Has the disk begin with them at once, where the system knows how: sync() then waits for less.
  void write_elements(std::int64_t first_byte, std::span<const float> elements);
  std::string read_bytes(std::int64_t first, std::int64_t count);
  void read_elements(std::int64_t first_byte, std::span<float> elements);

  // Collective: returns when the disk has it.
  void sync();

 private:
  void expect(int code, const char* what) const;
  void expect_count(MPI_Status& status, MPI_Datatype type, std::int64_t count) const;

  std::string path_;
  FileAccess access_ = FileAccess::read;
  int plain_ = -1;  // the same file beside MPI, for hints while it is written
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace fourfold::inline engine::inline train::inline checkpoint
