// What a rank does while nothing moves that it waits for: it looks again at once where it has a
// core of its own, and sleeps for a moment between looks where ranks share cores, so that those
// have them who can go on.
#pragma once

#include <cstdint>

#include "engine/mpi/library.hpp"

namespace fourfold::inline engine::inline mpi {

// How many of the communicator's ranks are on this node. Collective.
std::int64_t members_on_this_node(MPI_Comm all);
// Whether this node has fewer cores than ranks of the job. Collective over all ranks.
bool ranks_share_cores();

class Pause {
 public:
  explicit Pause(bool shares_cores) : shares_cores_(shares_cores) {}
  // After a look, told whether it has moved anything.
  void after_a_look(bool moved);

 private:
  bool shares_cores_ = false;
  int looks_ = 0;  // in a row at which nothing had moved
};

}  // namespace fourfold::inline engine::inline mpi
