// A prefill and decoding steps in lockstep: on any grid and any pipeline, whatever the block, the
// logits of each are those that an evaluation of the whole texts on one device has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/reference/scatter.hpp"
#include "schedule/order/step.hpp"
#include "schedule/program/recorder.hpp"
#include "tests/engine/tiny.hpp"
#include "tests/refusal.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t texts = 4;

// A phase of a model on all ranks of a grid.
struct Phased {
  Phased(const Model& of, const ProcessGrid& on, Phase phase, const StepOptions& options = {})
      : model(of), grid(on) {
    std::vector<Schedule> stages;
    for (std::int64_t i = 0; i < grid.extent(Axis::pipe); ++i) {
      const Program program = record_forward(model, options, phase, {i, grid.extent(Axis::pipe)});
      logits = program.logits;
      if (logits != -1) shape = program[logits].shape;
      stages.push_back(issue(program, options));
    }
    run = std::make_unique<Lockstep<double>>(model, std::move(stages), grid, tiny_seed);
    roughen(*run);
  }

  // Of the rows that the phase keeps, `each` of a text.
  Matrix<double> step(const Batch& batch, std::int64_t each) {
    run->step(batch, {});
    Shape whole = shape;
    whole.rows = texts * each;
    const ProcessGrid stage(grid.extent(Axis::x), grid.extent(Axis::y), grid.extent(Axis::z),
                            grid.extent(Axis::data));
    return gather(whole, stage, run->kept(logits));
  }

  Model model;
  ProcessGrid grid;
  Id logits = -1;
  Shape shape;
  std::unique_ptr<Lockstep<double>> run;
};

// Words `first` to `last` of each text, with what is there then; the rest of `each` is padding.
Batch words_of(const Batch& whole, std::int64_t sequence, std::int64_t first, std::int64_t last,
               std::int64_t each) {
  Batch batch{texts, {}, {}, last};
  for (std::int64_t text = 0; text < texts; ++text) {
    for (std::int64_t t = 0; t < each; ++t) {
      const bool there = first + t < last;
      batch.tokens.push_back(
          there ? whole.tokens[static_cast<std::size_t>(text * sequence + first + t)] : 0);
    }
  }
  batch.targets = batch.tokens;
  return batch;
}

double off(const Matrix<double>& own, const Matrix<double>& whole, std::int64_t sequence,
           std::int64_t length) {
  double largest = 0.0;
  for (std::int64_t text = 0; text < texts; ++text) {
    for (std::int64_t c = 0; c < own.cols; ++c) {
      largest = std::max(largest, std::abs(own(text, c) - whole(text * sequence + length - 1, c)));
    }
  }
  return largest;
}

// The grid, and the chunks on each of its stages.
class KeyValueCaches : public testing::TestWithParam<std::pair<const char*, std::int64_t>> {};

TEST_P(KeyValueCaches, GiveTheLogitsOfTheWholeText) {
  const ProcessGrid grid = ProcessGrid::parse(GetParam().first);
  StepOptions options;
  options.chunks = GetParam().second;
  if (options.chunks > 1) options.order = PipelineOrder::interleaved;
  std::vector<Model> models = shapes_of(tiny_model(3));
  models.push_back(tiny_model(3));
  for (const Model& model : models) {
    SCOPED_TRACE(model.name);
    const std::int64_t s = model.sequence;
    const Batch all = random_batch(model, texts, tiny_seed);
    Phased alone(model, {}, Phase::evaluation), prefill(model, grid, Phase::prefill, options),
        decode(model, grid, Phase::decode, options);
    const Matrix<double> whole = alone.step(all, s);
    for (const std::int64_t prompt : {std::int64_t{1}, std::int64_t{3}, s}) {
      const Matrix<double> read = prefill.step(words_of(all, s, 0, prompt, s), 1);
      EXPECT_LT(off(read, whole, s, prompt), 1e-12) << "a prompt of " << prompt;
      decode.run->take_caches(*prefill.run);
      for (std::int64_t t = prompt; t < s; ++t) {
        const Matrix<double> next = decode.step(words_of(all, s, t, t + 1, 1), 1);
        EXPECT_LT(off(next, whole, s, t + 1), 1e-12) << t << " behind a prompt of " << prompt;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnAnyGrid, KeyValueCaches,
                         testing::Values(std::pair{"1x1x1x1", 1}, std::pair{"2x1x1x1", 1},
                                         std::pair{"1x2x1x1", 1}, std::pair{"1x1x2x2", 1},
                                         std::pair{"2x2x2x1", 1}, std::pair{"pipe=2", 1},
                                         std::pair{"pipe=2", 2}, std::pair{"x=2,y=2,pipe=3", 1},
                                         std::pair{"z=2,data=2,pipe=2", 2}));

// A cache that nobody has filled, or with other keys, gives other logits: the test above sees it.
TEST(KeyValueCachesOf, OtherTextsAreNoticed) {
  const Model model = tiny_model();
  const Batch all = random_batch(model, texts, tiny_seed);
  const Batch others = random_batch(model, texts, tiny_seed + 1);
  Phased alone(model, {}, Phase::evaluation), prefill(model, {}, Phase::prefill),
      decode(model, {}, Phase::decode);
  const Matrix<double> whole = alone.step(all, model.sequence);
  prefill.step(words_of(others, model.sequence, 0, 3, model.sequence), 1);
  decode.run->take_caches(*prefill.run);

  const Matrix<double> next = decode.step(words_of(all, model.sequence, 3, 4, 1), 1);

  EXPECT_GT(off(next, whole, model.sequence, 4), 1e-3);
}

TEST(KeyValueCachesOf, LengthsThatThereIsNoRoomForAreRefused) {
  const Model model = tiny_model();
  const Batch all = random_batch(model, texts, tiny_seed);
  Phased decode(model, {}, Phase::decode);
  for (const std::int64_t length : {std::int64_t{0}, model.sequence + 1}) {
    Batch batch = words_of(all, model.sequence, 0, 1, 1);
    batch.length = length;
    EXPECT_EQ(
        refusal([&] { decode.step(batch, 1); }),
        "a batch has " + std::to_string(length) + " tokens of each sequence; it must be 1 to 5");
  }
}

TEST(KeyValueCachesOf, AStepThatEndsAreWrittenByNoFunction) {
  Recorder r;
  r.begin_stage({});
  const Attributes of{.sequence = 4, .heads = 2};
  const Id qkv = r.data("qkv", {all_tokens, 24, {}}, Precision::bf16);
  const Id passing = r.map({functions::rotary, "a", Precision::bf16, of}, {qkv});
  const Shape lies = functions::cache_of_sequences(r.value(qkv).shape, of);
  const Id kept = r.data("cache", lies, Precision::bf16, Role::cache);
  const auto attend = [&](Id cache) {
    return refusal([&] {
      r.apply({functions::attention_to_cache, "b", Precision::bf16, of}, {qkv, cache});
    });
  };
  EXPECT_EQ(attend(kept), "accepted");
  EXPECT_EQ(attend(qkv), "accepted") << "it outlives the step";
  EXPECT_THAT(attend(passing), testing::HasSubstr("would write to what does not outlive the step"));
}

}  // namespace
}  // namespace fourfold::tests
