// Who is a rank of a running job: where mpirun or srun has set how many there are, not in a batch
// script of Slurm's, which is told the number of its tasks, too.
#include "scaling/jobs/engine_job.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace fourfold::tests {
namespace {

TEST(OneOfSeveralRanks, IsWhomAStarterOfRanksHasToldSo) {
  using Variables = std::map<std::string, std::string>;
  for (const auto& [set, several] : std::vector<std::pair<Variables, bool>>{
           {{{"OMPI_COMM_WORLD_SIZE", "2"}}, true},
           {{{"PMI_SIZE", "16"}}, true},
           {{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_ID", "0"}}, true},
           {{}, false},
           {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "1"}}, false},
           {{{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "0"}}, false},
           {{{"SLURM_STEP_NUM_TASKS", "4"}}, false}}) {  // a batch script
    for (const char* one :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"}) {
      unsetenv(one);
    }
    for (const auto& [variable, value] : set) setenv(variable.c_str(), value.c_str(), 1);
    EXPECT_EQ(one_of_several_ranks(), several) << ::testing::PrintToString(set);
  }
}

}  // namespace
}  // namespace fourfold::tests
