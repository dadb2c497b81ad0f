// What becomes of a simulation's end: an answer, a grid left out, or a failure.
#include <gtest/gtest.h>

#include "scaling/find/find_answer.hpp"
#include "scaling/jobs/launch.hpp"
#include "sim/question/replay_answer.hpp"

namespace fourfold::tests {
namespace {

JobResult ended_with(int status) {
  return {"", "fourfold-replay: a reason\n", status};
}

TEST(Finding, ASimulationBeyondItsLimitIsNoFailureAndHasNoAnswer) {
  EXPECT_FALSE(answer_of(ended_with(over_work_limit), {}));
  EXPECT_FALSE(answer_of(ended_with(over_cpu_limit), {}));
}

TEST(Finding, AnyOtherEndIsAFailure) {
  EXPECT_THROW(answer_of(ended_with(1), {}), FindingFailed);
}

}  // namespace
}  // namespace fourfold::tests
