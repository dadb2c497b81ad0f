// Layers on a second factoring of the ranks take their time on every timed rung: what is sent along
// an axis whose lines are those of one of the grid's own takes as long as along that, and estimate
// and simulation agree where lines run along two.
#include <gtest/gtest.h>

#include "schedule/fold/fold.hpp"
#include "schedule/order/issue.hpp"
#include "schedule/program/recorder.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/cost/waiting.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

// Some MLPs whose weights lie in pieces along `cut`, as rows of the stream do; each is one body of
// a loop. Products wait for their gathers, and a sum is reduced into pieces.
Folded mlps(Axis cut) {
  Recorder r(Precision::bf16, OptimizerState::none);
  const Shape stream{8192, 4096, {{Axis::z}, {}, {}, {}}};
  const Id input = r.parameter("input", stream, WeightKind::matrix).weight;
  Id value = is_second(cut) ? -1 : input;
  for (std::int64_t layer = 0; layer < 6; ++layer) {
    r.begin_section("layer", layer);
    if (value == -1) value = r.view(input, {{cut}, {}, {}, {}});
    const auto whole = [&](const char* label, const Shape& shape) {
      const Id weight = r.parameter({label, "layer", layer}, shape, WeightKind::matrix).weight;
      return r.all_gather(weight, cut, Hiding::never);
    };
    const auto product = [&](GemmForm form, Id a, Id b, const char* label) {
      return r.gemm(form, a, b, {functions::none, label});
    };
    const Id up = whole("up", {4096, 16384, {{}, {}, {cut}, {}}});
    const Id down = whole("down", {16384, 4096, {{}, {}, {cut}, {}}});
    const Id between = product(GemmForm::nn, value, up, "between");
    const Id sum = product(GemmForm::tn, between, value, "gradient");
    r.keep(r.reduce_scatter(sum, cut, Hiding::never));
    value = product(GemmForm::nn, between, down, "output");
  }
  r.keep(value);
  return fold_schedule(issue(r.finish(), {}));
}

struct Rungs {
  double estimated = 0.0, simulated = 0.0, waiting = 0.0;
};

// Those of the tests, and two whose devices differ.
std::vector<std::string> machines() {
  std::vector<std::string> all{"frontier", "perlmutter"};
  for (const char* machine : fixed_machines) all.push_back(path_of_machine(machine));
  return all;
}

Rungs rungs(const std::string& machine, const std::string& grid, Axis cut) {
  Point point;
  point.platform = machine;
  point.grid = ProcessGrid::parse(grid);
  const Platform platform = read_platform(point.platform);
  const Folded folded = mlps(cut);
  const TimedProgram program = lower(point, platform, {&folded, 1});
  return {estimate_step(program).total.value,
          replay_step(program, point.grid, platform).outcome.total.value,
          expected_waiting(program).for_last().value};
}

TEST(SecondFactoring, TakesAsLongAsTheAxisWithTheSameLines) {
  for (const std::string& machine : machines()) {
    SCOPED_TRACE(machine);
    const Rungs own = rungs(machine, "z=8", Axis::z);
    const Rungs second = rungs(machine, "z=8,expert=8", Axis::expert);

    EXPECT_DOUBLE_EQ(second.estimated, own.estimated);
    EXPECT_DOUBLE_EQ(second.simulated, own.simulated);
    EXPECT_DOUBLE_EQ(second.waiting, own.waiting);
    EXPECT_NEAR(second.estimated, second.simulated, 0.07 * second.simulated);
  }
}

// Lines along z and data together.
TEST(SecondFactoring, IsEstimatedAsItIsSimulated) {
  for (const std::string& machine : machines()) {
    SCOPED_TRACE(machine);
    for (const char* grid : {"z=4,data=2,expert=8", "z=4,data=4,expert=8", "x=2,z=4,data=2,ep=8"}) {
      const Rungs second = rungs(machine, grid, Axis::expert);

      EXPECT_NEAR(second.estimated, second.simulated, 0.07 * second.simulated) << grid;
      EXPECT_EQ(second.waiting > 0.0, machine == "frontier" || machine == "perlmutter");
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
