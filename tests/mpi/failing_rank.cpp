// A program whose ranks fail for tests/mpi_abort_test.sh: "one" (rank 1, while the others wait for
// it in a collective), "thread" (its progress thread, while it waits itself), "all" (each by
// itself), "together", or "none".
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/host_memory.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/mpi/library.hpp"
#include "engine/mpi/session.hpp"

namespace {

const std::thread::id main_thread = std::this_thread::get_id();
std::atomic<bool> thread_fails = false;
std::atomic<bool> thread_has_failed = false;

}  // namespace

// To the progress thread of the rank that fails the network is broken; until it has noticed,
// nothing arrives for the main thread.
extern "C" int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!thread_fails) return PMPI_Test(request, flag, status);
  if (std::this_thread::get_id() != main_thread) {
    thread_has_failed = true;
    return MPI_ERR_OTHER;
  }
  if (thread_has_failed) return PMPI_Test(request, flag, status);
  *flag = 0;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  using namespace fourfold;
  const std::string who = argc > 1 ? argv[1] : "none";
  const TransportKind transport = parse_transport(argc > 2 ? argv[2] : "ring");
  const ProgressMode mode = parse_progress_mode(argc > 3 ? argv[3] : "none");
  return run_session(argc, argv, [&](const Session& session) {
    if (who == "all") throw std::invalid_argument("this cannot work");
    if (who == "together") throw FailedTogether("this cannot work");
    // Outlives the channels, which use it until they end.
    std::vector<float> values(1 << 20, 1.0F);
    HostMemory memory;
    Channels channels(ProcessGrid(session.ranks(), 1, 1, 1), {{Axis::x, ""}}, transport, mode,
                      memory);
    const Tensor tensor{reinterpret_cast<std::byte*>(values.data()), 1, 1 << 20, Precision::fp32};
    const CollectiveCall call{CollectiveKind::all_reduce, Owed::sum, tensor, tensor};
    thread_fails = who == "thread" && session.rank() == 1;
    const Post first = channels[{Axis::x, ""}].start(call);
    if (who == "one" && session.rank() == 1) throw std::runtime_error("something broke here");
    channels[{Axis::x, ""}].finish(first);
    channels[{Axis::x, ""}].start(call);  // not waited for: the end of the channels does that
    return 0;
  });
}
