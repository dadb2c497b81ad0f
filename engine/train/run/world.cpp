// Plain blocking MPI, small messages; see world.hpp.
#include "engine/train/run/world.hpp"

#include <limits>
#include <stdexcept>

namespace fourfold::inline engine::inline train::inline run {

namespace {

int narrow(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument("a message of " + std::to_string(count) +
                                " bytes is more than MPI counts");
  }
  return static_cast<int>(count);
}

}  // namespace

World::World()
    : communicator_(split(MPI_COMM_WORLD, 0, rank_in(MPI_COMM_WORLD), "world of the run")),
      rank_(rank_in(communicator_.get())),
      size_(size_of(communicator_.get())) {}

std::int64_t World::ranks_on_this_node() const {
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator_.get(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made),
            "MPI_Comm_split_type");
  const MpiCommunicator node(made);
  return size_of(node.get());
}

void World::barrier() const {
  const Waits::Wait wait(waits_);
  check_mpi(MPI_Barrier(communicator_.get()), "MPI_Barrier");
}

void World::all_bytes(const void* own, std::size_t bytes, void* every) const {
  const int count = narrow(bytes);
  const Waits::Wait wait(waits_);
  check_mpi(MPI_Allgather(own, count, MPI_BYTE, every, count, MPI_BYTE, communicator_.get()),
            "MPI_Allgather");
}

std::string World::from_first(const std::string& text) const {
  const Waits::Wait wait(waits_);
  std::string result = text;
  int length = narrow(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, communicator_.get()), "MPI_Bcast");
  result.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(result.data(), length, MPI_BYTE, 0, communicator_.get()), "MPI_Bcast");
  return result;
}

double World::from_last(double own) const {
  const Waits::Wait wait(waits_);
  check_mpi(MPI_Bcast(&own, 1, MPI_DOUBLE, mpi_count(size_ - 1), communicator_.get()), "MPI_Bcast");
  return own;
}

std::string World::bytes_to_first(const std::string& own, std::int64_t sender) const {
  constexpr int tag = 1;
  const Waits::Wait wait(waits_);
  if (sender == 0) return rank_ == 0 ? own : std::string();
  const int from = static_cast<int>(sender);
  if (rank_ == sender) {
    check_mpi(MPI_Send(own.data(), narrow(own.size()), MPI_BYTE, 0, tag, communicator_.get()),
              "MPI_Send");
  }
  if (rank_ != 0) return {};
  MPI_Status status;
  check_mpi(MPI_Probe(from, tag, communicator_.get(), &status), "MPI_Probe");
  int length = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
  std::string received(static_cast<std::size_t>(length), '\0');
  check_mpi(MPI_Recv(received.data(), length, MPI_BYTE, from, tag, communicator_.get(),
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
  return received;
}

}  // namespace fourfold::inline engine::inline train::inline run
