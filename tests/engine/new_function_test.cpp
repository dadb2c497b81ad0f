// The referee takes programs it has never heard of: rows gathered and scattered, and a function
// that is only described in this test, with its one kernel.
#include "tests/new_function.hpp"

#include <gtest/gtest.h>

#include "engine/reference/lockstep.hpp"
#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

constexpr Axis x = Axis::x, z = Axis::z;

template <typename T>
void compute_squared_relu(const Device&, const Op&, const reference::Operands<T>& o) {
  for (std::int64_t i = 0; i < o.output.size(); ++i) {
    o.output[i] = static_cast<T>(squared_relu(static_cast<double>(o.inputs[0][i])));
  }
}

Lockstep<double> run_of(Program program, const ProcessGrid& grid) {
  const Schedule schedule = issue(std::move(program), {});
  Lockstep<double> run(tiny_model(), schedule, grid, tiny_seed);
  run.add_kernel({&functions::squared_relu, compute_squared_relu<double>});
  run.step(counting_batch(tiny_model(), 4), {});
  return run;
}

TEST(NewFunction, IsComputedOnGatheredRows) {
  const ProcessGrid grid(2, 1, 2, 1);
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const Parameter weight =
      r.parameter("weight", {8, 6, {{z}, {x}, {}, {}, Owed::sum}}, WeightKind::matrix);
  const Id whole = r.all_gather(weight.weight, z, Hiding::never, Direction::rows);
  const Id activated = r.map({functions::squared_relu, "activated", Precision::fp32}, {whole});
  r.keep(activated);

  const Lockstep<double> run = run_of(r.finish(), grid);

  const Matrix<double> global = run.weight("weight");
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const Matrix<double>& block = run.kept(activated)[static_cast<std::size_t>(rank)];
    const std::int64_t first = grid.coordinate(rank, x) * 3;
    ASSERT_EQ(block.rows, 8);
    for (std::int64_t row = 0; row < 8; ++row) {
      for (std::int64_t col = 0; col < 3; ++col) {
        EXPECT_EQ(block(row, col), squared_relu(global(row, first + col))) << rank;
      }
    }
  }
}

TEST(Rows, OfASumAreScatteredToTheirOwners) {
  const ProcessGrid grid(1, 1, 2, 1);
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const Shape cut{8, 4, {{z}, {}, {}, {}, Owed::sum}};
  const Parameter a = r.parameter("a", cut, WeightKind::matrix);
  const Parameter b = r.parameter("b", cut, WeightKind::matrix);
  const Id owed =
      r.gemm(GemmForm::tn, a.weight, b.weight, {functions::none, "product", Precision::fp32});
  const Id own = r.reduce_scatter(owed, z, Hiding::never, Direction::rows);
  r.keep(own);

  const Lockstep<double> run = run_of(r.finish(), grid);

  const Matrix<double> left = run.weight("a"), right = run.weight("b");
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const Matrix<double>& block = run.kept(own)[static_cast<std::size_t>(rank)];
    ASSERT_EQ(block.rows, 2);
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t col = 0; col < 4; ++col) {
        double sum = 0;
        for (std::int64_t k = 0; k < 8; ++k) sum += left(k, 2 * rank + row) * right(k, col);
        EXPECT_NEAR(block(row, col), sum, 1e-15) << rank;
      }
    }
  }
}

TEST(NewFunction, WithoutAKernelIsRefusedByName) {
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const Parameter weight = r.parameter("weight", {2, 2, {}}, WeightKind::matrix);
  r.keep(r.map({functions::squared_relu_backward, "no", Precision::fp32},
               {weight.weight, weight.weight}));
  Lockstep<double> run(tiny_model(), issue(r.finish(), {}), ProcessGrid(), tiny_seed);

  EXPECT_THROW(
      try { run.step(counting_batch(tiny_model(), 4), {}); } catch (const std::logic_error& error) {
        EXPECT_STREQ(error.what(), "reference kernels: no kernel for map squared_relu_backward");
        throw;
      },
      std::logic_error);
}

}  // namespace
}  // namespace fourfold::tests
