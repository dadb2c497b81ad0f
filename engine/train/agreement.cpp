// Agreement by one small all-reduce; see agreement.hpp.
#include "engine/train/agreement.hpp"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace fourfold {

void together(const std::function<void()>& work) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::string sentence;
  int failed = size;
  try {
    work();
  } catch (const std::exception& error) {
    sentence = error.what();
    failed = rank;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (failed == size) return;
  int length = static_cast<int>(std::min<std::size_t>(sentence.size(), 65'536));
  MPI_Bcast(&length, 1, MPI_INT, failed, MPI_COMM_WORLD);
  sentence.resize(static_cast<std::size_t>(length));
  MPI_Bcast(sentence.data(), length, MPI_CHAR, failed, MPI_COMM_WORLD);
  throw std::runtime_error(sentence);
}

}  // namespace fourfold
