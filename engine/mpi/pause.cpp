// Yields and sleeps between looks; see pause.hpp.
#include "engine/mpi/pause.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "engine/mpi/handles.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

// A message between two ranks that both run arrives sooner.
constexpr int looks_before_nap = 20;
constexpr std::chrono::microseconds nap{20};

}  // namespace

std::int64_t members_on_this_node(MPI_Comm all) {
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made),
            "MPI_Comm_split_type");
  const MpiCommunicator node(made);
  return size_of(node.get());
}

bool ranks_share_cores() {
  // Of the node: a rank may be bound to some of them.
  return members_on_this_node(MPI_COMM_WORLD) > sysconf(_SC_NPROCESSORS_ONLN);
}

void Pause::after_a_look(bool moved) {
  looks_ = moved ? 0 : looks_ + 1;
  if (moved) return;
  if (shares_cores_ && looks_ > looks_before_nap) {
    std::this_thread::sleep_for(nap);
  } else {
    std::this_thread::yield();
  }
}

}  // namespace fourfold::inline engine::inline mpi
