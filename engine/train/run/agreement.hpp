// Failing together: an error on one rank becomes the same error on all, so that no rank waits for
// one that has given up.
#pragma once

#include <functional>
#include <string>

namespace fourfold::inline engine::inline train::inline run {

// Does the work on every rank of MPI_COMM_WORLD. If it throws on some, throws FailedTogether
// (engine/mpi/session.hpp) with the sentence of the lowest such rank on all. Collective; the work
// itself must not be something that one rank can leave while others wait for it.
void together(const std::function<void()>& work);

// Rank 0 does the work alone; throws as together() does. Collective.
void on_first_rank(const std::function<void()>& work);
// What rank 0 makes, on all ranks; throws as together() does. Collective.
std::string from_first_rank(const std::function<std::string()>& make);

}  // namespace fourfold::inline engine::inline train::inline run
