// A bias that lies as no small tensor of Fourfold's does trains what one device trains.
#include "tests/new_sharding.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

constexpr Axis x = Axis::x, y = Axis::y, z = Axis::z;

struct Trained {
  Trained(const Cuts& pieces, const ProcessGrid& grid)
      : run(tiny_model(), schedule_of(tiny_model(), pieces, options()), grid, tiny_seed) {
    AdamW optimizer;
    optimizer.learning_rate = 3e-3;
    optimizer.clip_norm = 0.5;
    roughen(run);
    for (std::uint64_t step = 0; step < 3; ++step) {
      norms.push_back(run.step(random_batch(tiny_model(), 8, step), optimizer).gradient_norm);
    }
  }
  static StepOptions options() {
    StepOptions options;
    options.precision = Precision::fp32;
    options.micro_batches = 2;
    return options;
  }

  Lockstep<double> run;
  std::vector<double> norms;
};

TEST(NewSharding, TrainsWhatOneDeviceTrains) {
  const Trained alone({}, ProcessGrid());
  for (const Cuts& pieces : {Cuts{}, Cuts{z}, Cuts{Axis::data}, Cuts{z, Axis::data}}) {
    for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 2), ProcessGrid(1, 3, 4, 1),
                                    ProcessGrid(2, 1, 1, 4), ProcessGrid(4, 1, 2, 1)}) {
      SCOPED_TRACE(pieces.str() + " on " + grid.str());
      const Trained trained(pieces, grid);
      for (std::size_t step = 0; step < alone.norms.size(); ++step) {
        EXPECT_NEAR(trained.norms[step], alone.norms[step], 1e-10);
      }
      for (const std::string& parameter : alone.run.parameters()) {
        EXPECT_LT(largest_difference(trained.run.weight(parameter), alone.run.weight(parameter)),
                  1e-10)
            << parameter;
      }
    }
  }
}

// Each element once: the norm is that of the whole gradients.
TEST(NewSharding, IsClippedByTheNormOfWholeGradients) {
  const Trained trained({z}, ProcessGrid(2, 2, 2, 2));
  double squares = 0.0;
  for (const std::string& parameter : trained.run.parameters()) {
    for (double one : trained.run.gradient(parameter).values) squares += one * one;
  }
  EXPECT_GT(trained.norms.back(), 0.5) << "clipped";
  EXPECT_NEAR(trained.norms.back(), std::sqrt(squares), 1e-10);
}

// By what cuts the table, the bias and the norm; the last two end together.
TEST(NewSharding, OwesItsSquaresAlongWhatCutsIt) {
  const Schedule schedule = schedule_of(tiny_model(), {z}, Trained::options());
  const Program& program = schedule.program;
  std::map<std::string, AxisSet> owed;
  std::size_t sums = 0;
  for (const Op& op : program.ops) {
    if (op.is(functions::norm_factor)) sums = op.inputs.size();
    if (!op.is(functions::square_sum)) continue;
    const Value& squares = program[op.outputs[0]];
    owed[squares.label.full()] = squares.shape.sharding.partial;
  }
  EXPECT_EQ(owed, (std::map<std::string, AxisSet>{{"small.y.norm", {y}},
                                                  {"small.y_z.norm", {y, z}},
                                                  {"table.gradients.norm", {x, y, z}}}));
  EXPECT_EQ(sums, 2U);
}

}  // namespace
}  // namespace fourfold::tests
