// A factor that is solved for comes on top of one that is there: a part that is scaled down needs
// as much more.
#include "scaling/find/needed_factor.hpp"

#include <gtest/gtest.h>

#include "tests/machines.hpp"

namespace fourfold::tests {
namespace {

TEST(Needed, OfAPartThatIsScaledMakesGoodForIt) {
  Question question;
  question.platform = path_of_machine("dragonfly");
  question.model = {"small", 4, 1024, 8, 512, 4096};
  question.devices = 32;
  question.global_batch = 32;
  question.grid = ProcessGrid(2, 1, 4, 4);
  question.micro_batches = 1;
  const ProgressWatch nobody = [](const std::string&, double) {};
  for (const Fidelity fidelity : {Fidelity::estimated, Fidelity::simulated}) {
    const Seconds sound = find_answer(question, fidelity, {}, nobody).outcome().total;
    for (const double scale : {0.5, 0.25}) {
      Question slow = question;
      slow.scales["nics"] = scale;

      const Needed needed = needed_factor(slow, "nics", sound, fidelity, {}, nobody);

      EXPECT_GT(needed.without, sound);
      EXPECT_NEAR(needed.factor * scale, 1.0, 0.05) << name(fidelity) << " at " << scale;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
