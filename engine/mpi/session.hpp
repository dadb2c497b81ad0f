// The life of MPI in one process: from start to end, and how a failure of one rank ends the job.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>

namespace fourfold::inline engine::inline mpi {

// An error that all ranks throw at the same place, with no message under way: the job can end as
// one that went well does, but for its status.
struct FailedTogether : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Session {
 public:
  // Starts MPI, ready for calls from one thread at a time; throws std::runtime_error if the library
  // cannot do that.
  Session(int& argc, char**& argv);
  // Ends MPI, unless an exception is on its way out.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::int64_t rank() const { return rank_; }
  std::int64_t ranks() const { return ranks_; }

  // The last words of a job, and the status to leave with: rank 0 speaks for all, or this rank for
  // itself, which then ends the others by MPI_Abort and does not return.
  int end_together(const std::exception& failure) const;
  int end_alone(const std::exception& failure) const;

 private:
  std::int64_t rank_ = 0, ranks_ = 1;
};

// Runs `body` between start and end of MPI and returns its result. An exception on any rank ends
// the job on all ranks: one sentence, "fourfold: ...", and status 1.
int run_session(int argc, char** argv, const std::function<int(const Session&)>& body);

}  // namespace fourfold::inline engine::inline mpi
