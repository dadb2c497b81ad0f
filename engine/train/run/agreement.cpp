// Agreement by one small all-reduce; see agreement.hpp.
#include "engine/train/run/agreement.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "engine/mpi/handles.hpp"
#include "engine/mpi/session.hpp"
#include "support/plain_sentence.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

void broadcast(std::string& text, int root) {
  constexpr std::size_t longest = std::size_t{1} << 30;
  int length = static_cast<int>(std::min(text.size(), longest));
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, root, MPI_COMM_WORLD), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(text.data(), length, MPI_CHAR, root, MPI_COMM_WORLD), "MPI_Bcast");
}

}  // namespace

void together(const std::function<void()>& work) {
  const int nobody = mpi_count(size_of(MPI_COMM_WORLD));
  std::string sentence;
  int failed = nobody;
  try {
    work();
  } catch (const std::exception& error) {
    sentence = plain_sentence(error);
    failed = mpi_count(rank_in(MPI_COMM_WORLD));
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD),
            "MPI_Allreduce");
  if (failed == nobody) return;
  broadcast(sentence, failed);
  throw FailedTogether(sentence);
}

void on_first_rank(const std::function<void()>& work) {
  together([&] {
    if (rank_in(MPI_COMM_WORLD) == 0) work();
  });
}

std::string from_first_rank(const std::function<std::string()>& make) {
  std::string text;
  on_first_rank([&] { text = make(); });
  broadcast(text, 0);
  return text;
}

}  // namespace fourfold::inline engine::inline train::inline run
