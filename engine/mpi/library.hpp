// The one place that includes <mpi.h>: without the C++ bindings, and with errors as exceptions.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace fourfold::inline engine::inline mpi {

// Throws std::runtime_error with the library's own sentence if a call has failed.
inline void check_mpi(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw std::runtime_error(std::string(call) + " failed: " + text);
}

// MPI-3 counts are int.
inline int mpi_count(std::int64_t elements) {
  if (elements < 0 || elements > std::numeric_limits<int>::max()) {
    throw std::runtime_error("a message of " + std::to_string(elements) +
                             " elements is beyond what one MPI call can count, " +
                             std::to_string(std::numeric_limits<int>::max()) +
                             "; use --transport ring, which sends in segments");
  }
  return static_cast<int>(elements);
}

}  // namespace fourfold::inline engine::inline mpi
