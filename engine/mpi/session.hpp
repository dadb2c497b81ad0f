// The life of MPI in one process: from start to end, and how a failure of one rank ends the job.
#pragma once

#include <cstdint>
#include <functional>

namespace fourfold {

class Session {
 public:
  // Starts MPI, ready for calls from one thread at a time; throws std::runtime_error if the library
  // cannot do that.
  Session(int& argc, char**& argv);
  // Ends MPI; after an exception it leaves that to the abort that follows.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::int64_t rank() const { return rank_; }
  std::int64_t ranks() const { return ranks_; }

 private:
  std::int64_t rank_ = 0, ranks_ = 1;
};

// Runs `body` between start and end of MPI and returns its result. An exception on any rank ends
// the job on all ranks at once: one sentence with the rank, then MPI_Abort with status 1. When all
// ranks fail alike, rank 0 speaks for them.
int run_session(int argc, char** argv, const std::function<int(const Session&)>& body);

}  // namespace fourfold
