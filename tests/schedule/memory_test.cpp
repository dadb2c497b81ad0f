// Peak memory by liveness: small cases by hand, and what more of an option may never do.
#include "schedule/fold/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/models/linear.hpp"
#include "schedule/models/parameter_count.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

double role(const MemoryUse& memory, Role role) {
  return memory.by_role[static_cast<std::size_t>(role)].value;
}

double sum_of_roles(const MemoryUse& memory) {
  double sum = 0;
  for (Bytes bytes : memory.by_role) sum += bytes.value;
  return sum;
}

// Forward and backward of a k x n layer over m tokens, input and output's gradient given.
MemoryUse one_layer(std::int64_t m, std::int64_t k, std::int64_t n, const ProcessGrid& grid) {
  StepOptions options;
  options.recompute = Recompute::none;
  options.overlap = no_overlap;
  Recorder r;
  r.begin_section("layer", 0);
  const Cuts rows{Axis::data, Axis::z};
  const Id input =
      r.data("input", {all_tokens, k, {rows, {Axis::y}, {}, {}, Owed::sum}}, Precision::bf16);
  const Id gradient =
      r.data("gradient", {all_tokens, n, {rows, {Axis::x}, {}, {}, Owed::sum}}, Precision::bf16);
  Bucket bucket("bucket");
  Linear linear(r, "fc", weight_shape(k, n, Axis::y, Axis::x), WeightKind::matrix, bucket);
  std::map<Id, Id> kept;
  Gradients gradients;
  const Turn turn{StepPart::backward, 0, true, true};
  const Recording in{r, options, turn, kept, gradients};
  linear.backward(in, linear.forward(in, input, Hiding::all_gather).saved, gradient);
  bucket.reduce(r, options);
  return counted(fold_schedule(issue(r.finish(), options)), grid, m).memory;
}

struct Extents {
  std::int64_t m, k, n;
};
// Many tokens, a wide output, a wide input, a large weight.
const std::vector<Extents> cases{{512, 8, 8}, {64, 8, 128}, {64, 128, 8}, {8, 64, 64}};

TEST(PeakMemory, OfOneLayerOnOneDevice) {
  for (const auto& [m, k, n] : cases) {
    const MemoryUse memory = one_layer(m, k, n, ProcessGrid());

    // 2 bytes of weight and 12 of optimizer state; input and gradient, both bf16. Then the largest
    // of the output, the input's gradient, and the weight's gradient in bf16 beside its fp32 copy.
    const double given = number(14 * k * n + 2 * m * k + 2 * m * n);
    EXPECT_EQ(memory.peak.value, given + number(std::max({2 * m * n, 2 * m * k, 6 * k * n})));
    EXPECT_EQ(role(memory, Role::gathered), 0) << "nothing is gathered where nothing is cut";
  }
}

TEST(PeakMemory, OfOneLayerCutAlongZ) {
  for (const auto& [m, k, n] : cases) {
    const std::int64_t z = 4;

    const MemoryUse memory = one_layer(m, k, n, ProcessGrid(1, 1, z, 1));

    // Now the gathered weight lies beside the output or the input's gradient, and the
    // reduce-scatter needs the whole gradient and its piece; the cast of the piece needs less.
    const std::int64_t rows = m / z;
    const double given = number(14 * k * n / z + 2 * rows * (k + n));
    const double gather = number(2 * k * n);
    const double scatter = number(2 * k * n + 2 * k * n / z);
    EXPECT_EQ(memory.peak.value,
              given + std::max({gather + number(2 * rows * std::max(n, k)), scatter}));
  }
}

TEST(PeakMemory, OfOneLayerCutAlongXAndY) {
  for (const auto& [m, k, n] : cases) {
    const MemoryUse memory = one_layer(m, k, n, ProcessGrid(2, 4, 1, 1));

    const double weight = number(k * n) / 8;
    const double input = number(2 * m * k) / 4, output = number(2 * m * n) / 2;
    EXPECT_EQ(memory.peak.value,
              14 * weight + input + output + std::max({output, input, 6 * weight}));
  }
}

TEST(PeakMemory, OfAWholeStepWithFewTokensIsAtItsLastGradient) {
  // All fp32 gradients are there but the table's, which is being cast: 6 bytes instead of 4. Tokens
  // and targets take 4 bytes each, the loss 4.
  const Model model = small_model(1);
  StepOptions options;
  options.overlap = no_overlap;

  const MemoryUse memory = counted(model, options, ProcessGrid(), 1).memory;

  const double parameters = parameter_count(model);
  const double table = number(model.vocabulary * model.hidden);
  EXPECT_EQ(role(memory, Role::parameter), 2 * parameters);
  EXPECT_EQ(role(memory, Role::optimizer), 12 * parameters);
  EXPECT_EQ(role(memory, Role::gradient), 4 * parameters + 2 * table);
  EXPECT_EQ(role(memory, Role::activation), number(8 * model.sequence + 4));
  EXPECT_EQ(role(memory, Role::gathered), 0);
}

TEST(PeakMemory, IsTheSumOfItsRoles) {
  std::mt19937 random(17);
  for (int i = 0; i < 40; ++i) {
    const StepOptions options = random_options(random, 1 + static_cast<int>(random() % 4));

    const MemoryUse memory = counted(small_model(3), options, ProcessGrid(2, 2, 2, 1), 24).memory;

    EXPECT_NEAR(memory.peak.value, sum_of_roles(memory), 1e-9 * memory.peak.value);
  }
}

TEST(PeakMemory, ParametersAndStateAreFourteenBytesAPieceOnAnyGrid) {
  for (const ProcessGrid& grid : {ProcessGrid(2, 1, 1, 1), ProcessGrid(1, 4, 1, 3),
                                  ProcessGrid(2, 2, 4, 1), ProcessGrid(3, 1, 2, 2)}) {
    const Model model = small_model(2);

    const MemoryUse memory = counted(model, {}, grid, 48).memory;

    // Weights are cut by x, y and z; small tensors only by the axis of their columns.
    const double h = number(model.hidden);
    const double weights = number(model.layers) * 12 * h * h + number(model.vocabulary) * h;
    const double cut = weights / number(grid.extent(Axis::x) * grid.extent(Axis::y));
    const double x_cut = number(model.layers) * 7 * h / number(grid.extent(Axis::x));
    const double y_cut =
        (number(model.layers) * 6 + 2 + number(model.sequence)) * h / number(grid.extent(Axis::y));
    const double local = cut / number(grid.extent(Axis::z)) + x_cut + y_cut;
    EXPECT_EQ(role(memory, Role::parameter), 2 * local) << grid.str();
    EXPECT_EQ(role(memory, Role::optimizer), 12 * local) << grid.str();
  }
}

double peak(const StepOptions& options, const ProcessGrid& grid) {
  return counted(small_model(6), options, grid, 96).memory.peak.value;
}

const std::vector<ProcessGrid> some_grids{ProcessGrid(), ProcessGrid(2, 2, 1, 1),
                                          ProcessGrid(1, 2, 4, 1), ProcessGrid(2, 1, 2, 2)};

// From the third on: the first has no sums of gradients yet, and the second one's put-off gradients
// begin theirs.
TEST(PeakMemory, MoreMicroBatchesNeverNeedMore) {
  std::mt19937 random(19);
  for (int i = 0; i < 60; ++i) {
    StepOptions options = random_options(random, 3);
    for (const ProcessGrid& grid : some_grids) {
      options.micro_batches = 3;
      double last = peak(options, grid);
      for (std::int64_t m : {6, 12, 24}) {
        options.micro_batches = m;
        const double now = peak(options, grid);
        EXPECT_LE(now, last) << grid.str() << " " << described(options);
        last = now;
      }
    }
  }
}

TEST(PeakMemory, TheSecondMicroBatchAddsAtMostTheSumsOfTheGradients) {
  for (const ProcessGrid& grid : some_grids) {
    StepOptions one;
    StepOptions two;
    two.micro_batches = 2;

    const MemoryUse memory = counted(small_model(6), two, grid, 96).memory;

    EXPECT_LE(memory.peak.value, peak(one, grid) + 2 * role(memory, Role::parameter));
  }
}

// Where z is not cut there is nothing in flight, and putting off a cast to fp32 even saves memory.
TEST(PeakMemory, MoreInFlightKeptOrRememberedNeverNeedsLess) {
  std::mt19937 random(23);
  for (int i = 0; i < 40; ++i) {
    StepOptions options = random_options(random, 1 + static_cast<int>(random() % 4));
    for (const ProcessGrid& grid : some_grids) {
      SCOPED_TRACE(grid.str() + " " + described(options));
      double last = 0;
      for (std::int64_t window = 0; window < 5 && grid.extent(Axis::z) > 1; ++window) {
        options.in_flight_blocks = window;
        EXPECT_GE(peak(options, grid), last) << "window " << window;
        last = peak(options, grid);
      }
      StepOptions keep = options, again = options;
      keep.weight_gather = WeightGather::keep;
      again.weight_gather = WeightGather::per_micro_batch;
      EXPECT_GE(peak(keep, grid), peak(again, grid));
      StepOptions remember = options, repeat = options;
      remember.recompute = Recompute::none;
      repeat.recompute = Recompute::full;
      EXPECT_GE(peak(remember, grid), peak(repeat, grid));
      StepOptions some = repeat;
      repeat.recompute_every = repeat.recompute_layers = 1;
      some.recompute_every = 1;
      some.recompute_layers = 0;
      EXPECT_GE(peak(repeat, grid), peak(some, grid)) << "the first layer, or all";
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
