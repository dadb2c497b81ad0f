// Agreement by one small all-reduce; see agreement.hpp.
#include "engine/train/run/agreement.hpp"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <exception>
#include <string>

#include "engine/mpi/session.hpp"

namespace fourfold {

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void broadcast(std::string& text, int root) {
  constexpr std::size_t longest = std::size_t{1} << 30;
  int length = static_cast<int>(std::min(text.size(), longest));
  MPI_Bcast(&length, 1, MPI_INT, root, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, root, MPI_COMM_WORLD);
}

}  // namespace

void together(const std::function<void()>& work) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::string sentence;
  int failed = size;
  try {
    work();
  } catch (const std::exception& error) {
    sentence = error.what();
    failed = world_rank();
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (failed == size) return;
  broadcast(sentence, failed);
  throw FailedTogether(sentence);
}

void on_first_rank(const std::function<void()>& work) {
  together([&] {
    if (world_rank() == 0) work();
  });
}

std::string from_first_rank(const std::function<std::string()>& make) {
  std::string text;
  on_first_rank([&] { text = make(); });
  broadcast(text, 0);
  return text;
}

}  // namespace fourfold
