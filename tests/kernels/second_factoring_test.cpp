// A layer on a second factoring of the ranks: an MLP whose weights are cut by expert-tensor and
// expert, between streams that lie on the grid's own axes. On every grid on which both cut the
// stream alike it computes what one device computes, in lockstep and executed, forward and
// backward; on others it is refused in words.
#include <gtest/gtest.h>

#include "engine/reference/scatter.hpp"
#include "schedule/models/fit.hpp"
#include "tests/kernels/shown_values.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

const Model model{"tiny", 2, 16, 4, 8, 11};
constexpr Sharding second{{Axis::expert_data, Axis::expert}, {}, {}, {}, Owed::sum};

struct Recorded {
  Schedule schedule;
  std::vector<Id> shown;  // output, its input's gradient, those of both weights
};

// Rows of the streams are cut by `rows`.
Recorded mlp(const Cuts& rows) {
  Recorded result;
  Recorder r(Precision::fp32, OptimizerState::none);
  r.begin_section("alone", -1);
  const Shape stream{8, 6, {rows, {}, {}, {}, Owed::sum}};
  const auto parameter = [&](const char* label, const Shape& shape) {
    return r.parameter(label, shape, WeightKind::matrix).weight;
  };
  const Id input = r.view(parameter("input", stream), second);
  const Id gradient = r.view(parameter("gradient", stream), second);
  const auto whole = [&](const char* label, const Shape& shape) {
    return r.all_gather(parameter(label, shape), Axis::expert, Hiding::never);
  };
  const Id up = whole("up", {6, 12, {{}, {Axis::expert_tensor}, {Axis::expert}, {}, Owed::sum}});
  const Id down =
      whole("down", {12, 6, {{Axis::expert_tensor}, {}, {Axis::expert}, {}, Owed::sum}});
  const auto product = [&](GemmForm form, Id a, Id b, const char* label) {
    return r.gemm(form, a, b, {functions::none, label, Precision::fp32});
  };
  const auto reduced = [&](Id sum) {
    return r.all_reduce(r.reduce_scatter(sum, Axis::expert, Hiding::never), Axis::expert_data,
                        Hiding::never);
  };
  const auto joined = [&](Id sum) {
    return r.view(r.all_reduce(sum, Axis::expert_tensor, Hiding::never), stream.sharding);
  };
  const Id between = product(GemmForm::nn, input, up, "between");
  const Id dbetween = product(GemmForm::nt, gradient, down, "dbetween");
  const std::vector<Id> all{joined(product(GemmForm::nn, between, down, "output")),
                            joined(product(GemmForm::nt, dbetween, up, "dinput")),
                            reduced(product(GemmForm::tn, input, dbetween, "dup")),
                            reduced(product(GemmForm::tn, between, gradient, "ddown"))};
  for (Id id : all) {
    result.shown.push_back(ShownValues::show(r, r.value(id).label.name + ".shown", id));
  }
  result.schedule = issue(r.finish(), {});
  return result;
}

struct Case {
  const char* grid;
  Cuts rows;
};

class SecondFactoring : public testing::TestWithParam<Case> {};

TEST_P(SecondFactoring, ComputesWhatOneDeviceDoes) {
  const auto& [text, rows] = GetParam();
  const ProcessGrid grid = ProcessGrid::parse(text);
  const Recorded what = mlp(rows);
  const Program& program = what.schedule.program;
  const ShownValues values(model, what.schedule, grid);
  const Lockstep<float> alone = ShownValues(model, what.schedule, {}).refereed();
  const Lockstep<float> referee = values.refereed();

  for (std::size_t i = 0; i < what.shown.size(); ++i) {
    const Id id = what.shown[i];
    SCOPED_TRACE(program[id].label.full());
    const Matrix<float> expected = gather(program[id].shape, {}, alone.kept(id));
    const Matrix<float> whole = gather(program[id].shape, grid, referee.kept(id));
    ASSERT_EQ(whole.values.size(), expected.values.size());
    for (std::size_t k = 0; k < whole.values.size(); ++k) {
      EXPECT_NEAR(whole.values[k], expected.values[k], 1e-6);
    }
    EXPECT_GT(*std::ranges::max_element(expected.values), 1e-6F);
  }
  values.expect_executed(referee, what.shown);
}

constexpr Cuts by_replica{Axis::data, Axis::z}, by_tokens{Axis::data, Axis::z, Axis::x};

INSTANTIATE_TEST_SUITE_P(
    OnGrids, SecondFactoring,
    testing::Values(Case{"x=2,z=2,expert=2", by_tokens}, Case{"x=2,z=2,expert=4", by_tokens},
                    Case{"z=2,data=2,expert=2", by_replica},
                    Case{"z=2,data=2,expert=4", by_replica},
                    Case{"x=2,z=2,data=2,expert-tensor=2,expert=2", by_replica},
                    Case{"x=2,data=4,expert-tensor=2,expert=4", by_replica},
                    Case{"x=2,y=1,z=2,data=2,ep=8", by_tokens}));

TEST(SecondFactoringOf, StreamsThatLieOtherwiseIsRefused) {
  const Recorded what = mlp(by_replica);
  for (const char* text : {"x=2,z=2,expert=2", "x=2,z=2,expert-tensor=4"}) {
    const ProcessGrid grid = ProcessGrid::parse(text);
    EXPECT_EQ(refusal([&] { ShownValues(model, what.schedule, grid).refereed(); }),
              "lockstep: input (rows {data,z}) does not lie as rows {expert-data,expert} on grid " +
                  grid.str() +
                  "; it passes between the two factorings only where both cut it alike");
  }
}

TEST(SecondFactoringOf, AGridIsWrittenAndReadBack) {
  for (const char* text : {"x=2,z=2,expert=2", "z=4,expert-tensor=2", "x=2,data=4,pipe=3,expert=4",
                           "z=4,data=2,expert-tensor=2,expert=4"}) {
    const auto written = [](const ProcessGrid& grid) { return grid.str(); };
    const ProcessGrid grid = ProcessGrid::parse(text);
    EXPECT_TRUE(grid.has_second());
    EXPECT_EQ(ProcessGrid::parse(written(grid)), grid) << written(grid);
    std::int64_t product = 1;
    for (Axis axis : second_axes) product *= grid.extent(axis);
    EXPECT_EQ(product, grid.ranks_of_stage());
    for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
      for (Axis axis : every_axis) {
        const std::vector<std::int64_t> line = grid.line(rank, axis);
        EXPECT_EQ(line.at(static_cast<std::size_t>(grid.coordinate(rank, axis))), rank);
      }
    }
  }
  EXPECT_EQ(ProcessGrid::parse("x=2,expert=1"), ProcessGrid::parse("2x1x1x1"));
  EXPECT_EQ(refusal([] { ProcessGrid::parse("x=2,z=3,ep=4"); }),
            "process grid: expert-tensor 1 x expert 4 does not divide the 6 ranks of a stage of "
            "2x1x3x1");
}

TEST(SecondFactoringOf, ModelsWithoutSuchALayerIsRefused) {
  EXPECT_EQ(misfit(model, ProcessGrid::parse("z=2,expert=2"), 4, {}),
            "grid z=2,expert=2 does not fit tiny: no layer of it lies on a second factoring of the "
            "ranks; leave expert and expert-tensor out");
}

}  // namespace
}  // namespace fourfold::tests
