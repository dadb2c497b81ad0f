// What a question is refused for does not depend on the rung that is to answer it: drawn questions
// are refused in the same sentence by the estimate and by the simulation, or by neither.
#include <gtest/gtest.h>

#include <string>

#include "scaling/find/find_answer.hpp"
#include "tests/drawn_points.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t questions_drawn = 24;
constexpr std::int64_t most_devices = 16;

// A grid is stated, or searched for.
enum class Grid : std::uint8_t { stated, searched };

// A tuning is drawn more often than drawn points have one: it is what may be idle.
Question drawn_question(std::int64_t number, Grid grid) {
  const DrawnPoint drawn = drawn_point(number, most_devices);
  const Draw draw(number, 1);
  Question asked;
  asked.platform = drawn.point.platform;
  asked.scales = drawn.point.scales;
  asked.model = drawn.point.model;
  asked.devices = drawn.point.grid.size();
  asked.global_batch = drawn.point.global_batch;
  asked.options = drawn.point.options;
  asked.what_ifs.collective = collective_tuning(draw.of<std::string>(
      "tuning", {"auto", "ring", "tree", "recursive", "hierarchical", "all-gather:hierarchical",
                 "reduce-scatter:recursive", "all-reduce:ring"}));
  if (grid == Grid::searched) return asked;
  asked.grid = drawn.point.grid;
  asked.micro_batches = drawn.point.options.micro_batches;
  return asked;
}

std::string said(const Question& asked, Fidelity fidelity) {
  StoppingRule rule;
  rule.at_least = rule.at_most = 2;
  return refusal<std::exception>(
      [&] { find_answer(asked, fidelity, rule, [](const std::string&, double) {}); });
}

TEST(DrawnQuestions, AreRefusedByTheSameRuleOnBothRungs) {
  int answered = 0, idle = 0;
  for (const Grid grid : {Grid::stated, Grid::searched}) {
    for (std::int64_t number = 0; number < questions_drawn; ++number) {
      const Question asked = drawn_question(number, grid);
      const std::string estimated = said(asked, Fidelity::estimated);
      EXPECT_EQ(said(asked, Fidelity::simulated), estimated)
          << number << (asked.grid ? " on " + asked.grid->str() : " searched");
      answered += estimated == "accepted" ? 1 : 0;
      idle += estimated.find("cannot take effect") == std::string::npos ? 0 : 1;
    }
  }
  EXPECT_GT(answered, 15);
  EXPECT_GT(idle, 8);
}

}  // namespace
}  // namespace fourfold::tests
