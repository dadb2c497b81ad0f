// bench/doctor/diagnosis.hpp on machines that are made up: each trouble is named with its cure.
#include "bench/doctor/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/bench/healthy.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

Symptom finding(const Facts& facts, const std::string& subject) {
  for (const Symptom& found : diagnosis(facts)) {
    if (found.subject == subject) return found;
  }
  ADD_FAILURE() << "nothing is said of " << subject;
  return {};
}

// That subject alone is wrong, and its cure says so much.
void expect_wrong(const Facts& facts, const std::string& subject, const std::string& cure) {
  EXPECT_EQ(finding(facts, subject).verdict, Health::wrong) << finding(facts, subject).found;
  EXPECT_THAT(finding(facts, subject).cure, HasSubstr(cure));
  for (const Symptom& found : diagnosis(facts)) {
    if (found.subject != subject) {
      EXPECT_NE(found.verdict, Health::wrong) << found.subject << ": " << found.found;
    }
  }
}

TEST(Doctor, FindsNothingWrongWithAHealthyMachine) {
  for (const Symptom& found : diagnosis(healthy())) {
    EXPECT_EQ(found.verdict, Health::fine) << found.subject << ": " << found.found;
    EXPECT_EQ(found.cure, "");
  }
}

TEST(Doctor, NamesSlowKernels) {
  Facts facts = healthy();
  facts.blas = {"OpenBLAS 0.3.21 with Prescott kernels", "Prescott", "SKYLAKEX", 33, 170, 180};
  expect_wrong(facts, "BLAS kernels", "export OPENBLAS_CORETYPE=SKYLAKEX");
  EXPECT_THAT(finding(facts, "BLAS kernels").found,
              HasSubstr("33 Gflop/s a core, oneDNN's 180, 170 with OPENBLAS_CORETYPE=SKYLAKEX; "));
  facts.blas.better_gflops = 0;  // nobody has timed them
  expect_wrong(facts, "BLAS kernels", "export OPENBLAS_CORETYPE=SKYLAKEX");
  EXPECT_THAT(finding(facts, "BLAS kernels").found, HasSubstr("oneDNN's 180; these kernels"));
}

TEST(Doctor, NamesWhatKeepsMpiFromSharedMemory) {
  Facts facts = healthy();
  facts.only_transports = "tcp,self";
  expect_wrong(facts, "MPI in shared memory", "unset OMPI_MCA_btl");
  facts.only_transports = "^vader,openib";
  expect_wrong(facts, "MPI in shared memory", "unset OMPI_MCA_btl");
  for (const char* with_shared_memory : {"vader,self", "self,sm", "^tcp", "^openib,tcp"}) {
    facts.only_transports = with_shared_memory;
    EXPECT_EQ(finding(facts, "MPI in shared memory").verdict, Health::fine) << with_shared_memory;
  }
  facts = healthy();
  facts.mpi.latency_us = 25;
  facts.mpi.bandwidth_GBps = 1;
  expect_wrong(facts, "MPI in shared memory", "/dev/shm");
  facts = healthy();
  facts.mpi.failure = "cannot start mpirun: No such file or directory";
  expect_wrong(facts, "mpirun", "openmpi-bin");
}

TEST(Doctor, NamesRanksThatShareACore) {
  Facts facts = healthy();
  facts.mpi.cores = {"0", "0"};
  expect_wrong(facts, "binding of ranks", "--bind-to none");
  facts.mpi.cores = {"0-7", "0-7"};
  EXPECT_EQ(finding(facts, "binding of ranks").verdict, Health::fine);
}

TEST(Doctor, NamesCoresThatAreShared) {
  Facts facts = healthy();
  facts.core_quota = 1.5;
  expect_wrong(facts, "cores", "--cpus=8");
  facts = healthy();
  facts.load = 9;
  expect_wrong(facts, "other work", "wait");
  facts.load = 4;
  EXPECT_EQ(finding(facts, "other work").verdict, Health::note);
}

TEST(Doctor, NamesGovernorsLimitsAndSpace) {
  Facts facts = healthy();
  facts.governors = {"performance", "powersave"};
  expect_wrong(facts, "clock rate", "--governor performance");
  facts = healthy();
  facts.open_files = 256;
  expect_wrong(facts, "limits", "ulimit -n");
  facts = healthy();
  facts.locked_memory = 8 << 20;
  EXPECT_EQ(finding(facts, "limits").verdict, Health::fine) << "without an adapter";
  facts.network_adapter = true;
  expect_wrong(facts, "limits", "ulimit -l unlimited");
  facts = healthy();
  facts.shared_memory_bytes = 64 << 20;  // docker's default
  expect_wrong(facts, "/dev/shm", "--shm-size=512m");
  facts = healthy();
  facts.memory_bytes = 1 << 30;
  expect_wrong(facts, "memory", "larger machine");
}

TEST(Doctor, NamesMissingProgramsAndMissesPlotsLess) {
  Facts facts = healthy();
  facts.missing_tools = {"fourfold-replay"};
  expect_wrong(facts, "programs", "./run.sh");
  facts.missing_tools = {"gnuplot"};
  EXPECT_EQ(finding(facts, "programs").verdict, Health::note);
}

}  // namespace
}  // namespace fourfold::tests
