// How surprising single words are; see data.hpp.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cmath>

#include "engine/train/agreement.hpp"
#include "engine/train/data.hpp"

namespace fourfold {

double unigram_entropy(const WordStream& words, std::int64_t vocabulary) {
  constexpr std::int64_t piece = 65'536;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary), 0);
  together([&] {
    std::vector<std::int32_t> read;
    const std::int64_t end = words.words() * (rank + 1) / size;
    for (std::int64_t i = words.words() * rank / size; i < end; i += piece) {
      read.clear();
      words.read(i, std::min(piece, end - i), vocabulary, read);
      for (std::int32_t word : read) ++counts[static_cast<std::size_t>(word)];
    }
  });
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(vocabulary), MPI_INT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  double entropy = 0.0;
  for (std::int64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(words.words());
    entropy -= share * std::log(share);
  }
  return entropy;
}

}  // namespace fourfold
