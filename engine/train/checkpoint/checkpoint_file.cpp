// MPI-IO with every return code looked at; see checkpoint_file.hpp.
#include "engine/train/checkpoint/checkpoint_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "engine/mpi/handles.hpp"
#include "engine/train/run/agreement.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

// Chunks of plain access, which MPI counts in int.
constexpr std::int64_t longest_access = std::int64_t{1} << 28;

int narrowed(std::int64_t count) {
  if (count < 0 || count > INT32_MAX) throw std::logic_error("checkpoint: count beyond MPI's int");
  return static_cast<int>(count);
}

}  // namespace

CheckpointFile::CheckpointFile(const std::string& path, FileAccess access)
    : path_(path), access_(access) {
  const bool reads = access == FileAccess::read;
  // Beforehand, since a collective open that fails on one rank alone cannot be undone on the
  // others.
  together([&] {
    if (::access(path.c_str(), reads ? R_OK : W_OK) == 0) return;
    throw std::runtime_error(fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  });
  const int mode = reads ? MPI_MODE_RDONLY : MPI_MODE_WRONLY;
  check_mpi(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN), "MPI_File_set_errhandler");
  expect(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &file_),
         "cannot be opened");
  check_mpi(MPI_File_set_errhandler(file_, MPI_ERRORS_RETURN), "MPI_File_set_errhandler");
  if (!reads) plain_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

CheckpointFile::~CheckpointFile() {
  if (plain_ >= 0) ::close(plain_);
  MPI_File_close(&file_);
}

void CheckpointFile::expect(int code, const char* what) const {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw std::runtime_error(fmt::format("{} {}: {}", path_, what, text.data()));
}

void CheckpointFile::expect_count(MPI_Status& status, MPI_Datatype type, std::int64_t count) const {
  int done = 0;
  check_mpi(MPI_Get_count(&status, type, &done), "MPI_Get_count");
  if (done == count) return;
  throw std::runtime_error(fmt::format("{} {} only {} of {} elements", path_,
                                       access_ == FileAccess::read ? "gave" : "took", done, count));
}

void CheckpointFile::write_bytes(std::int64_t first, const std::string& bytes) {
  MPI_Status status;
  const int count = narrowed(static_cast<std::int64_t>(bytes.size()));
  expect(MPI_File_write_at(file_, first, bytes.data(), count, MPI_BYTE, &status),
         "cannot be written");
  expect_count(status, MPI_BYTE, count);
}

void CheckpointFile::write_elements(std::int64_t first_byte, std::span<const float> elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  if (count > longest_access) throw std::logic_error("checkpoint: stretch too long");
  MPI_Status status;
  expect(MPI_File_write_at(file_, first_byte, elements.data(), narrowed(count), MPI_FLOAT, &status),
         "cannot be written");
  expect_count(status, MPI_FLOAT, count);
#if defined(__linux__)
  // A hint: where it cannot be followed, sync() does all the waiting.
  if (plain_ >= 0 && count > 0) {
    ::sync_file_range(plain_, first_byte, 4 * count, SYNC_FILE_RANGE_WRITE);
  }
#endif
}

std::string CheckpointFile::read_bytes(std::int64_t first, std::int64_t count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  MPI_Status status;
  expect(MPI_File_read_at(file_, first, bytes.data(), narrowed(count), MPI_BYTE, &status),
         "cannot be read");
  expect_count(status, MPI_BYTE, count);
  return bytes;
}

void CheckpointFile::read_elements(std::int64_t first_byte, std::span<float> elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  if (count > longest_access) throw std::logic_error("checkpoint: stretch too long");
  MPI_Status status;
  expect(MPI_File_read_at(file_, first_byte, elements.data(), narrowed(count), MPI_FLOAT, &status),
         "cannot be read");
  expect_count(status, MPI_FLOAT, count);
}

void CheckpointFile::sync() {
  expect(MPI_File_sync(file_), "did not reach the disk");
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
