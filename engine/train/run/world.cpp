// Plain blocking MPI, small messages; see world.hpp.
#include "engine/train/run/world.hpp"

#include <limits>
#include <stdexcept>

namespace fourfold {

namespace {

int narrow(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument("a message of " + std::to_string(count) +
                                " bytes is more than MPI counts");
  }
  return static_cast<int>(count);
}

}  // namespace

World::World() {
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator_, &rank);
  MPI_Comm_size(communicator_, &size);
  rank_ = rank;
  size_ = size;
}

World::~World() {
  MPI_Comm_free(&communicator_);
}

std::int64_t World::ranks_on_this_node() const {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int size = 1;
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  return size;
}

void World::barrier() const {
  MPI_Barrier(communicator_);
}

void World::all_bytes(const void* own, std::size_t bytes, void* every) const {
  MPI_Allgather(own, narrow(bytes), MPI_BYTE, every, narrow(bytes), MPI_BYTE, communicator_);
}

std::string World::from_first(const std::string& text) const {
  std::string result = text;
  int length = narrow(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, communicator_);
  result.resize(static_cast<std::size_t>(length));
  MPI_Bcast(result.data(), length, MPI_BYTE, 0, communicator_);
  return result;
}

std::string World::bytes_to_first(const std::string& own, std::int64_t sender) const {
  constexpr int tag = 1;
  if (sender == 0) return rank_ == 0 ? own : std::string();
  const int from = static_cast<int>(sender);
  if (rank_ == sender) {
    MPI_Send(own.data(), narrow(own.size()), MPI_BYTE, 0, tag, communicator_);
  }
  if (rank_ != 0) return {};
  MPI_Status status;
  MPI_Probe(from, tag, communicator_, &status);
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  std::string received(static_cast<std::size_t>(length), '\0');
  MPI_Recv(received.data(), length, MPI_BYTE, from, tag, communicator_, MPI_STATUS_IGNORE);
  return received;
}

}  // namespace fourfold
