// MPI_Init_thread, MPI_Finalize and MPI_Abort; see session.hpp.
#include "engine/mpi/session.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

#include "engine/mpi/handles.hpp"

namespace fourfold {

namespace {

// How long another rank leaves the word to rank 0, which may be failing for the same reason.
constexpr std::chrono::milliseconds courtesy{300};

[[noreturn]] void end_job(const char* sentence) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) std::this_thread::sleep_for(courtesy);
  std::fprintf(stderr, "rank %d: %s\n", rank, sentence);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::terminate();
}

}  // namespace

Session::Session(int& argc, char**& argv) {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (level < MPI_THREAD_SERIALIZED) {
    throw std::runtime_error("this MPI library has no support for threads (MPI_THREAD_SERIALIZED)");
  }
  rank_ = rank_in(MPI_COMM_WORLD);
  ranks_ = size_of(MPI_COMM_WORLD);
}

Session::~Session() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

int run_session(int argc, char** argv, const std::function<int(const Session&)>& body) {
  try {
    const Session session(argc, argv);
    return body(session);
  } catch (const std::exception& failure) {
    end_job(failure.what());
  } catch (...) {
    end_job("an exception that is no std::exception");
  }
}

}  // namespace fourfold
