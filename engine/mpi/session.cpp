// MPI_Init_thread, MPI_Finalize and MPI_Abort; see session.hpp.
#include "engine/mpi/session.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "engine/mpi/handles.hpp"
#include "support/complaint.hpp"
#include "support/exit_status.hpp"
#include "support/plain_sentence.hpp"
#include "support/ranks_started.hpp"
#include "support/standard_streams.hpp"

namespace fourfold::inline engine::inline mpi {

namespace {

// Sockets as Open MPI leaves them hold little, so that a wire stands idle from one call for
// progress to the next; what these hold travels while ranks compute (microbench/README.md,
// engine_training_overlap.cpp). What the user has set in the environment or for mpirun stays.
void prefer_large_sockets() {
  const std::string bytes = std::to_string(4 << 20);
  for (const char* parameter : {"OMPI_MCA_btl_tcp_sndbuf", "OMPI_MCA_btl_tcp_rcvbuf"}) {
    setenv(parameter, bytes.c_str(), 0);
  }
}

// How long another rank leaves the word to rank 0, which may be failing for the same reason.
constexpr std::chrono::milliseconds courtesy{300};
// For MPI_Finalize after a failure: what the failure left unfinished must not hold the job up.
constexpr unsigned seconds_to_end = 10;

std::string sentence_of(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure) == nullptr) return plain_sentence(failure);
  return "memory ran out: the system gives this process no more";
}

// A rank that mpirun has started does not outlive it, even stopped: nobody else would end it.
void end_with_launcher() {
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace

Session::Session(int& argc, char**& argv) {
  prefer_large_sockets();
  end_with_launcher();
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (level < MPI_THREAD_SERIALIZED) {
    throw std::runtime_error("this MPI library has no support for threads (MPI_THREAD_SERIALIZED)");
  }
  rank_ = rank_in(MPI_COMM_WORLD);
  ranks_ = size_of(MPI_COMM_WORLD);
  if (rank_ == 0 && std::getenv(asks_for_start) != nullptr) {
    say(std::string(ranks_started) + '\n');
  }
}

Session::~Session() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

int Session::end_together(const std::exception& failure) const {
  if (rank_ == 0) complain(sentence_of(failure), status_could_not);
  alarm(seconds_to_end);
  return status_could_not;
}

int Session::end_alone(const std::exception& failure) const {
  if (ranks_ == 1) return end_together(failure);
  if (rank_ != 0) std::this_thread::sleep_for(courtesy);
  complain("rank " + std::to_string(rank_) + ": " + sentence_of(failure), status_could_not);
  MPI_Abort(MPI_COMM_WORLD, status_could_not);
  std::terminate();
}

int run_session(int argc, char** argv, const std::function<int(const Session&)>& body) {
  try {
    const Session session(argc, argv);
    try {
      return body(session);
    } catch (const FailedTogether& failure) {
      return session.end_together(failure);
    } catch (const std::exception& failure) {
      return session.end_alone(failure);
    }
  } catch (const std::exception& failure) {  // MPI did not start
    return complain(sentence_of(failure), status_could_not);
  }
}

}  // namespace fourfold::inline engine::inline mpi
