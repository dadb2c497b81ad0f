// Bytes of the collectives equal the paper's equations (1)-(5) (arXiv:2502.08145, beta = 1) for one
// fully connected layer, and their sum over a whole GPT step.
//
// Convention: the k rows of a weight are cut by `in`, its n columns by `out`; in an unswapped layer
// in = y and out = x. m counts the tokens of one data-parallel group. bf16 is 2 bytes, fp32 is 4.
#include <gtest/gtest.h>

#include <set>

#include "schedule/models/linear.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

// What every rank of a ring of n sends to all-gather or reduce-scatter, and to all-reduce, S bytes.
double one_way(double bytes, std::int64_t n) {
  return bytes * number(n - 1) / number(n);
}
double both_ways(double bytes, std::int64_t n) {
  return 2 * one_way(bytes, n);
}

// By the name of a channel; nothing where there is no such channel.
double sent(const Counts& counts, const std::string& channel) {
  for (std::size_t i = 0; i < counts.channels.size(); ++i) {
    if (name(counts.channels[i]) == channel) return counts.sent[i].value;
  }
  return 0;
}

std::vector<ProcessGrid> grids() {
  std::vector<ProcessGrid> result;
  for (std::int64_t x : {1, 2, 3, 4}) {
    for (std::int64_t y : {1, 2, 4}) {
      for (std::int64_t z : {1, 2, 3}) {
        for (std::int64_t data : {1, 2, 5}) result.emplace_back(x, y, z, data);
      }
    }
  }
  return result;
}

struct Layer {
  std::int64_t k = 48;
  std::int64_t n = 96;
  Axis in = Axis::y;
  Axis out = Axis::x;
};

// Forward (twice with recompute) and backward of one layer and nothing else.
Folded layer_alone(const Layer& layer, const StepOptions& options) {
  Recorder r;
  r.declare(Axis::z, "gather");
  r.declare(Axis::z, "reduce");
  r.begin_section("layer", 0);
  const auto rows = [](std::int64_t cols, Axis axis) {
    return Shape{all_tokens, cols, {{Axis::data, Axis::z}, {axis}, {}, {}, Owed::sum}};
  };
  const Id input = r.data("input", rows(layer.k, layer.in), Precision::bf16);
  const Id gradient = r.data("gradient", rows(layer.n, layer.out), Precision::bf16);
  Bucket bucket("bucket");
  Linear linear(r, "fc", weight_shape(layer.k, layer.n, layer.in, layer.out), WeightKind::matrix,
                bucket);
  std::map<Id, Id> kept;
  Gradients gradients;
  const Turn turn{StepPart::backward, 0, true, true};
  const Recording in{r, options, turn, kept, gradients};
  auto forward = linear.forward(in, input, Hiding::all_gather);
  if (options.recompute == Recompute::full) {
    forward = linear.forward(in, input, Hiding::recompute_gather);
  }
  linear.backward(in, forward.saved, gradient);
  bucket.reduce(r, options);
  return fold_schedule(issue(r.finish(), options));
}

void expect_equations(const Layer& layer, const StepOptions& options, const ProcessGrid& grid) {
  const std::int64_t z = grid.extent(Axis::z);
  const std::int64_t in = grid.extent(layer.in);
  const std::int64_t out = grid.extent(layer.out);
  const std::int64_t data = grid.extent(Axis::data);
  const std::int64_t m = 60;
  const bool recomputes = options.recompute == Recompute::full;
  const bool in_each = options.weight_gather == WeightGather::per_pass && recomputes;
  const double gathers = options.weight_gather == WeightGather::keep ? 1 : in_each ? 3 : 2;
  const double wider = options.gathers_masters() ? 2 : 1;
  const double forwards = recomputes ? 2 : 1;
  const double weight = number(layer.k * layer.n) / number(in * out);
  const auto lane = [](Axis axis) { return std::string(name(axis)); };

  const Counts counts = counted(layer_alone(layer, options), grid, m * data).counts;

  const double eq1 = number(z - 1) * 2 * weight / number(z);
  const double eq2 = number(z - 1) / number(z) * 2 * weight;
  const double eq3 = both_ways(2 * number(m * layer.n) / number(z * out), in);
  const double eq4 = both_ways(2 * number(m * layer.k) / number(z * in), out);
  const double eq5 = both_ways(4 * weight / number(z), data);
  SCOPED_TRACE("grid " + grid.str() + " " + described(options));
  EXPECT_NEAR(sent(counts, "z_gather"), wider * gathers * eq1, 1e-9 * eq1);
  EXPECT_NEAR(sent(counts, "z_reduce"), eq2, 1e-9 * eq2);
  EXPECT_NEAR(sent(counts, lane(layer.in)), forwards * eq3, 1e-9 * eq3);
  EXPECT_NEAR(sent(counts, lane(layer.out)), eq4, 1e-9 * eq4);
  EXPECT_NEAR(sent(counts, "data"), eq5, 1e-9 * eq5);
}

TEST(CommunicationVolume, OfOneLayerIsThePapersEquationsOnEveryGrid) {
  for (const ProcessGrid& grid : grids()) {
    for (Recompute recompute : {Recompute::none, Recompute::full}) {
      for (WeightGather gather :
           {WeightGather::per_micro_batch, WeightGather::per_pass, WeightGather::keep}) {
        StepOptions options;
        options.recompute = recompute;
        options.weight_gather = gather;
        expect_equations({48, 96, Axis::y, Axis::x}, options, grid);
        options.weight_gather_precision = Precision::fp32;
        expect_equations({96, 48, Axis::x, Axis::y}, options, grid);
      }
    }
  }
}

// What recomputes gathers no weight that the backward pass gathers as well.
TEST(CommunicationVolume, OfGatheredWeightsIsTheSameWhateverIsRecomputed) {
  for (const ProcessGrid& grid : {ProcessGrid(2, 1, 2, 1), ProcessGrid(1, 2, 3, 2)}) {
    for (const WeightGather gather : {WeightGather::per_micro_batch, WeightGather::keep}) {
      std::set<double> volumes;
      for (const Recompute recompute : {Recompute::none, Recompute::full, Recompute::selective,
                                        Recompute::mlp, Recompute::norms}) {
        StepOptions options = options_of(recompute, AttentionKernel::fused);
        options.weight_gather = gather;
        options.micro_batches = 2;
        volumes.insert(sent(counted(small_model(3), options, grid, 24).counts, "z_gather"));
      }
      EXPECT_EQ(volumes.size(), 1U) << grid.str();
    }
  }
}

// What the four layers, layer norms, both ends of the vocabulary, small tensors, loss and clipping
// of a step send by lane, added up by hand.
struct StepVolume {
  double x = 0, y = 0, z_gather = 0, z_reduce = 0, data = 0;

  StepVolume(const Model& model, const StepOptions& options, const ProcessGrid& grid,
             std::int64_t sequences) {
    const std::int64_t gx = grid.extent(Axis::x), gy = grid.extent(Axis::y);
    const std::int64_t gz = grid.extent(Axis::z), gd = grid.extent(Axis::data);
    const double h = number(model.hidden), vocabulary = number(model.vocabulary);
    const double layers = number(model.layers), batches = number(options.micro_batches);
    // Rows of a device, and forward passes, both over the whole step.
    const double rows = number(sequences * model.sequence) / number(gz * gd);
    const double forwards = options.recompute == Recompute::full ? 2 : 1;
    const auto bytes = [](Precision p) { return number(bytes_per_element(p)); };

    // x: projection and down forward, QKV and up backward; embedding and head's input gradient;
    // maximum, and exponentials with the target's logit.
    const double narrow = 2 * rows * h / number(gy);
    x = both_ways(layers * (2 * forwards + 2) * narrow + 2 * narrow + rows * (4 + 8), gx);
    // y: QKV (3h) and up (4h) forward, projection (h) and down (4h) backward; logits; layer norms
    // take 4 + 4 bytes a row forward and 8 backward.
    const double column = 2 * rows / number(gx);
    const double norms = 8 * rows * (layers * 2 * (forwards + 1) + 2);
    y = both_ways(layers * column * h * (7 * forwards + 5) + column * vocabulary + norms, gy);

    const double weights = (12 * h * h * layers + vocabulary * h) / number(gx * gy);
    const bool keep = options.weight_gather == WeightGather::keep;
    z_gather = one_way(2 * weights * (keep ? 1 : 2 * batches), gz);
    const bool once = options.gradient_reduction == GradientReduction::accumulated;
    z_reduce = one_way(bytes(options.grad_reduce_precision_z) * weights * (once ? 1 : batches), gz);
    data = both_ways(bytes(options.grad_reduce_precision_data) * weights / number(gz), gd);

    // Four vectors of h a layer for its norms, two biases of h, and 3h + 4h cut by x; then the
    // final norm and the positions.
    const double small = 4 * (layers * (6 * h / number(gy) + 7 * h / number(gx)) +
                              (2 + number(model.sequence)) * h / number(gy));
    const double scalar = 4;
    z_reduce += both_ways(small + 2 * scalar, gz);  // loss, norm
    data += both_ways(small + scalar, gd);          // loss
    x += both_ways(scalar, gx);
    y += both_ways(2 * scalar, gy);
  }
};

TEST(CommunicationVolume, OfAWholeStepIsTheSumOverItsLayers) {
  const Model model = small_model(3);
  const std::int64_t sequences = 120;
  std::mt19937 random(7);
  for (const ProcessGrid& grid : grids()) {
    const StepOptions options = random_options(random, 1 + static_cast<int>(random() % 2) * 3);

    const Counts counts = counted(model, options, grid, sequences).counts;

    const StepVolume expected(model, options, grid, sequences);
    SCOPED_TRACE("grid " + grid.str() + " " + described(options));
    EXPECT_NEAR(sent(counts, "x"), expected.x, 1e-9 * expected.x);
    EXPECT_NEAR(sent(counts, "y"), expected.y, 1e-9 * expected.y);
    EXPECT_NEAR(sent(counts, "z_gather"), expected.z_gather, 1e-9 * expected.z_gather);
    EXPECT_NEAR(sent(counts, "z_reduce"), expected.z_reduce, 1e-9 * expected.z_reduce);
    EXPECT_NEAR(sent(counts, "data"), expected.data, 1e-9 * expected.data);
  }
}

TEST(CommunicationVolume, AVocabularyThatDoesNotDivideIsPaddedUp) {
  Model model = small_model(1);
  model.vocabulary = 97;
  Model padded = model;
  padded.vocabulary = 99;
  const ProcessGrid grid(3, 1, 2, 1);

  const Counts counts = counted(model, {}, grid, 4).counts;

  EXPECT_EQ(sent(counts, "z_gather"), sent(counted(padded, {}, grid, 4).counts, "z_gather"));
  EXPECT_EQ(counts.gemm.value, counted(padded, {}, grid, 4).counts.gemm.value);
}

StepOptions with_messages(bool cut, PipelineOrder order = PipelineOrder::one_f_one_b) {
  StepOptions options;
  options.order = order;
  options.micro_batches = 6;
  options.cut_messages = cut;
  return options;
}

// Along x, or between stages.
double payload(const Counted& stage, Axis axis) {
  double sum = 0.0;
  for (std::size_t c = 0; c < stage.counts.channels.size(); ++c) {
    const Channel& channel = stage.counts.channels[c];
    const bool message = channel.group != Group::line && channel.group != Group::ends;
    if (channel.axis != axis || message != (axis == Axis::pipe)) continue;
    sum += stage.counts.payload[c].value;
  }
  return sum;
}

TEST(CutMessages, AreAsManyTimesShorterAsDevicesAlongXAndGatheredThere) {
  for (const std::int64_t x : {1, 2, 4}) {
    const ProcessGrid grid(x, 1, 1, 2, 3);
    for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::zero_bubble}) {
      for (std::int64_t i = 0; i < 3; ++i) {
        const Stage stage{i, 3};
        const auto whole =
            counted(folded_step(small_model(3), with_messages(false, order), stage), grid, 48);
        const auto cut =
            counted(folded_step(small_model(3), with_messages(true, order), stage), grid, 48);

        const double all = payload(whole, Axis::pipe);
        EXPECT_GT(all, 0.0);
        EXPECT_EQ(payload(cut, Axis::pipe) * static_cast<double>(x), all);
        // Of what passes a stage, it receives one way what it sends the other way.
        const double received = x > 1 ? all / 2 : 0.0;
        EXPECT_EQ(payload(cut, Axis::x) - payload(whole, Axis::x), received);
        EXPECT_EQ(cut.counts.executed().value, whole.counts.executed().value);
        if (x > 1) continue;
        EXPECT_EQ(cut.memory.peak.value, whole.memory.peak.value) << "a piece is the whole";
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
