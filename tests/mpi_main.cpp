// main of the distributed tests: runs them on all ranks, lets rank 0 speak and the others name what
// fails, and fails on every rank if a test has failed on one. What failed elsewhere than on rank 0
// is said once more at the end, where a log that was cut short still has it.
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
    const std::string failure = "rank " + std::to_string(rank_) + ": [  FAILED  ] " + test_ + ": " +
                                file + ":" + std::to_string(result.line_number()) + ": " +
                                result.message() + "\n";
    std::fputs(failure.c_str(), stderr);
    said_ += failure;
  }
  const std::string& said() const { return said_; }

 private:
  static constexpr const char* outside = "outside the tests";

  int rank_ = 0;
  std::string test_ = outside;
  std::string said_;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Failures* failures = nullptr;
  if (rank != 0 || provided < MPI_THREAD_SERIALIZED) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    failures = new Failures(rank);
    listeners.Append(failures);  // which owns it
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (failures != nullptr) std::fputs(failures->said().c_str(), stderr);
  MPI_Finalize();
  return failed;
}
