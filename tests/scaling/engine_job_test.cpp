// Who is a rank of a running job: where mpirun or srun has set how many there are, not in a batch
// script of Slurm's, which is told the number of its tasks, too.
#include "scaling/jobs/engine_job.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace fourfold::tests {
namespace {

using Variables = std::map<std::string, std::string>;

// Whether this process is taken for one of several ranks with these variables and no others.
bool with(const Variables& set) {
  for (const char* one :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"}) {
    unsetenv(one);
  }
  for (const auto& [variable, value] : set) setenv(variable.c_str(), value.c_str(), 1);
  return one_of_several_ranks();
}

TEST(OneOfSeveralRanks, IsWhomAStarterOfRanksHasToldSo) {
  EXPECT_TRUE(with({{"OMPI_COMM_WORLD_SIZE", "2"}}));
  EXPECT_TRUE(with({{"PMI_SIZE", "16"}}));
  EXPECT_TRUE(with({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_ID", "0"}}));
}

TEST(OneOfSeveralRanks, IsNotALoneProcess) {
  EXPECT_FALSE(with({}));
  EXPECT_FALSE(with({{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "1"}}));
  EXPECT_FALSE(with({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "0"}}));
}

TEST(OneOfSeveralRanks, IsNotABatchScript) {
  EXPECT_FALSE(with({{"SLURM_STEP_NUM_TASKS", "4"}}));
}

}  // namespace
}  // namespace fourfold::tests
