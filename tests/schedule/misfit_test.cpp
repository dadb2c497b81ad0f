// Which grids, batches and orders fit, decided again rule by rule for drawn questions; and what is
// said of each that does not, word for word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "schedule/models/fit.hpp"
#include "tests/drawn_steps.hpp"

namespace fourfold::tests {
namespace {

struct Question {
  Model model;
  ProcessGrid grid;
  std::int64_t batch = 0;
  StepOptions options;
};

// Heads, key-value heads, columns of heads, the MLP's width and the hidden size have each a prime
// of their own or lack one.
Question drawn_question(std::int64_t number) {
  const Draw draw(number, 0);
  Question question;
  Model& model = question.model;
  model = {"drawn",
           draw.of<std::int64_t>("layers", {4, 7, 12}),
           draw.of<std::int64_t>("hidden", {60, 72, 84}),
           12,
           draw.of<std::int64_t>("sequence", {9, 10, 12}),
           97};
  model.key_value_heads = draw.of<std::int64_t>("keys", {0, 2, 3, 6});
  model.mlp_width = draw.of<std::int64_t>("width", {0, 50, 66, 90});
  if (draw.often("own heads", 30)) model.head_size = 8;
  question.grid = ProcessGrid(
      draw.of<std::int64_t>("x", {1, 1, 2, 3, 4, 6}), draw.of<std::int64_t>("y", {1, 1, 5, 7, 8}),
      draw.of<std::int64_t>("z", {1, 2, 3}), draw.of<std::int64_t>("data", {1, 2, 5}),
      draw.of<std::int64_t>("pipe", {1, 1, 2, 3, 4, 5}));
  if (draw.often("second factoring", 10)) {
    question.grid = question.grid.with_second(1, question.grid.ranks_of_stage());
  }
  question.batch = draw.of<std::int64_t>("batch", {1, 12, 60, 120, 240, 360});
  StepOptions& options = question.options;
  options.micro_batches = draw.of<std::int64_t>("micro-batches", {0, 1, 2, 3, 4, 6, 7});
  options.order = draw.of("order", {PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                    PipelineOrder::interleaved, PipelineOrder::interleaved,
                                    PipelineOrder::zero_bubble, PipelineOrder::message_driven});
  const bool interleaved = options.order == PipelineOrder::interleaved;
  if (interleaved != draw.often("other chunks", 15)) {
    options.chunks = draw.of<std::int64_t>("chunks", {2, 3});
  }
  if (draw.often("limit", 20)) options.pipeline_limit = 3;
  options.overlap.messages = !draw.often("no messages", 25);
  options.sequence_parallel = draw.often("sequence parallel", 50);
  return question;
}

// The counts next to that of the question that share out the batch.
std::string nearest_counts(const Question& question) {
  const std::int64_t copies = question.grid.extent(Axis::z) * question.grid.extent(Axis::data);
  const std::int64_t asked = question.options.micro_batches;
  if (asked < 1) return "";
  std::int64_t below = 0, above = 0;
  for (std::int64_t count = 1; count <= question.batch; ++count) {
    if (question.batch % (count * copies) != 0) continue;
    if (count < asked) below = count;
    if (count > asked && above == 0) above = count;
  }
  if (below == 0) return "";
  return fmt::format("; {}{} would", below, above == 0 ? "" : fmt::format(" or {}", above));
}

// Of several reasons the first: chunks before limits, limits before stages.
std::string order_sentence(const StepOptions& o, std::int64_t stages) {
  const std::string order = name(o.order);
  const bool queue = o.order == PipelineOrder::message_driven;
  const bool chunks = o.order == PipelineOrder::interleaved;
  const auto needs = [&](const char* what) { return fmt::format("the {} order {}", order, what); };
  const char* const two_stages = "needs at least 2 stages: give the grid a pipe axis";
  if (chunks && o.chunks < 2) {
    return needs("needs at least 2 chunks of layers on each stage: --chunks 2");
  }
  if (!queue && o.pipeline_limit > 0) {
    return fmt::format(
        "the order {} has no limit of micro-batches in flight; --pipeline-limit is for --order "
        "message-driven",
        order);
  }
  if (queue && stages == 1) return needs(two_stages);
  if (queue && !o.overlap.messages) {
    return needs(
        "receives messages ahead, as it runs what has arrived: it needs the overlap of messages");
  }
  if (!chunks && o.chunks > 1) {
    return fmt::format(
        "the order {} has 1 chunk on each stage, not {}; several are for --order interleaved",
        order, o.chunks);
  }
  if (chunks && stages == 1) return needs(two_stages);
  if (!chunks || o.micro_batches % stages == 0) return "";
  const std::int64_t below = o.micro_batches / stages * stages;
  return needs("takes micro-batches in groups of as many as there are stages: ") +
         fmt::format("{} are no multiple of {}; the nearest are {}{}", o.micro_batches, stages,
                     below > 0 ? fmt::format("{} and ", below) : "", below + stages);
}

struct Expected {
  Misfit why = Misfit::none;
  std::string sentence;  // behind what fits what
};

Expected expected(const Question& question) {
  const Model& m = question.model;
  const StepOptions& o = question.options;
  const auto extent = [&](Axis axis) { return question.grid.extent(axis); };
  const std::int64_t x = extent(Axis::x), y = extent(Axis::y), pipe = extent(Axis::pipe);
  const std::int64_t keys = m.key_value_heads == 0 ? m.heads : m.key_value_heads;
  const std::int64_t width = m.mlp_width == 0 ? 4 * m.hidden : m.mlp_width;
  if (m.heads % x != 0) {
    return {Misfit::heads,
            fmt::format("{} heads do not divide by x = {}; x must be a divisor of the heads",
                        m.heads, x)};
  }
  if (keys % x != 0) {
    return {
        Misfit::key_value_heads,
        fmt::format("{} heads of keys and values do not divide by x = {}; x must be a divisor "
                    "of them, as each is on one device along x only{}",
                    keys, x,
                    x % keys != 0 ? ""
                                  : fmt::format("; copies of them are said in a model file with "
                                                "key_value_heads = {}",
                                                x))};
  }
  if (width % x != 0) {
    return {Misfit::mlp,
            fmt::format("the MLP's {} columns do not divide by x = {}; x must be a divisor of them",
                        width, x)};
  }
  if (m.hidden % x != 0 || m.hidden % y != 0) {
    const bool along_x = m.hidden % x != 0;
    return {Misfit::divisibility,
            fmt::format("hidden size {} does not divide by {} = {}; x and y must be divisors of it",
                        m.hidden, along_x ? "x" : "y", along_x ? x : y)};
  }
  if (pipe * o.chunks > m.layers + (o.chunks == 1 ? 0 : 2) || pipe > m.layers) {
    return {Misfit::layers,
            fmt::format("{} layers cannot be dealt out to {} stages of {} chunk{} each; stages x "
                        "chunks must be at most the layers{}",
                        m.layers, pipe, o.chunks, o.chunks == 1 ? "" : "s",
                        o.chunks == 1 ? "" : " and two more")};
  }
  if (extent(Axis::expert) > 1) {
    return {Misfit::second_factoring,
            "no layer of it lies on a second factoring of the ranks; leave expert and "
            "expert-tensor out"};
  }
  if (const std::string why = order_sentence(o, pipe); !why.empty()) return {Misfit::order, why};
  const std::int64_t shares = o.micro_batches * extent(Axis::z) * extent(Axis::data);
  if (shares == 0 || question.batch % shares != 0) {
    return {Misfit::batch,
            fmt::format("a batch of {} sequences does not divide into {} micro-batches of whole "
                        "sequences on z x data = {} x {} shares{}",
                        question.batch, o.micro_batches, extent(Axis::z), extent(Axis::data),
                        nearest_counts(question))};
  }
  const std::int64_t tokens = question.batch / shares * m.sequence;
  if (!o.sequence_parallel || tokens % x == 0) return {};
  return {Misfit::tokens,
          fmt::format("sequence parallelism cuts the {} tokens of a micro-batch on a device by x = "
                      "{}, which must divide them",
                      tokens, x)};
}

TEST(Misfit, OfDrawnQuestionsIsWhatTheRulesSayWordForWord) {
  std::map<Misfit, int> found;
  for (std::int64_t number = 0; number < 20'000; ++number) {
    const Question q = drawn_question(number);
    const auto& [why, sentence] = expected(q);
    ++found[why];

    ASSERT_EQ(name(find_misfit(q.model, q.grid, q.batch, q.options)), std::string(name(why)))
        << number;
    ASSERT_EQ(misfit(q.model, q.grid, q.batch, q.options),
              why == Misfit::none
                  ? ""
                  : fmt::format("grid {} does not fit drawn: {}", q.grid.str(), sentence))
        << number;
    const bool of_model =
        why == Misfit::second_factoring || (why != Misfit::none && why < Misfit::order);
    ASSERT_EQ(find_misfit(q.model, q.grid, q.options.chunks), of_model ? why : Misfit::none);
    const std::int64_t stages = q.grid.extent(Axis::pipe);
    ASSERT_EQ(order_misfit(q.options, stages), order_sentence(q.options, stages)) << number;
  }
  EXPECT_EQ(found.size(), 9U) << "12 heads have every x as a divisor";
  for (const auto& [why, times] : found) EXPECT_GT(times, 30) << name(why);
}

TEST(Misfit, HasANameForEachReason) {
  std::string all;
  for (int why = 0; why < 10; ++why) all += std::string(name(static_cast<Misfit>(why))) + ", ";
  EXPECT_EQ(all,
            "none, heads, key-value heads, MLP, divisibility, layers, order, batch, tokens, "
            "second factoring, ");
}

TEST(ModelParts, AreTheProductsOfXAndYThatFitWhateverTheBlock) {
  for (std::int64_t number = 0; number < 200; ++number) {
    const Model model = drawn_question(number).model;
    std::set<std::int64_t> products;
    for (std::int64_t x = 1; x <= model.heads; ++x) {
      for (std::int64_t y = 1; y <= model.hidden; ++y) {
        if (find_misfit(model, {x, y, 1, 1}) == Misfit::none) products.insert(x * y);
      }
    }

    EXPECT_EQ(model_parts(model), products) << number;
  }
}

// Of a grid that fits with whole batches alone.
TEST(BatchUnit, IsWhatEveryBatchThatFitsIsAMultipleOf) {
  const Model model{"my-model", 2, 48, 12, 8, 96};
  const ProcessGrid grid(1, 1, 3, 2);
  StepOptions options;
  options.micro_batches = 4;
  for (std::int64_t batch = 1; batch <= 60; ++batch) {
    const bool multiple = batch % batch_unit(grid, 4) == 0;

    EXPECT_EQ(find_misfit(model, grid, batch, options) == Misfit::none, multiple) << batch;
  }
  EXPECT_EQ(indivisible_axis(model, {2, 5, 5, 1}), Axis::y);
}

}  // namespace
}  // namespace fourfold::tests
