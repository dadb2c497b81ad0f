// main of the distributed tests: runs them on all ranks, lets rank 0 speak and the others name what
// fails, and fails on every rank if a test has failed on one.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace {

// Prints nothing but failures: of which test, on which rank.
class Failures : public testing::EmptyTestEventListener {
 public:
  explicit Failures(int rank) : rank_(rank) {}

  // UnitTest::current_test_info waits for the lock under which results are told.
  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestEnd(const testing::TestInfo&) override { test_ = outside; }
  // An exception is in no file.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const char* const file = result.file_name() == nullptr ? "no file" : result.file_name();
    std::fprintf(stderr, "rank %d: [  FAILED  ] %s: %s:%d: %s\n", rank_, test_.c_str(), file,
                 result.line_number(), result.message());
  }

 private:
  static constexpr const char* outside = "outside the tests";

  int rank_ = 0;
  std::string test_ = outside;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0 || provided < MPI_THREAD_SERIALIZED) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures(rank));
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
