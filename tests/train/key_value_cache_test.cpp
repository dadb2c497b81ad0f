// Words drawn with a key-value cache are those that are drawn without one, on every grid, and
// documents are compared with what the model writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/cpu/reference_backend.hpp"
#include "engine/train/sample/sample.hpp"
#include "engine/train/sample/sampler.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/order/step.hpp"
#include "tests/shapes.hpp"
#include "tests/train/one_run.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Draws from rough weights, which no two words are equally likely by, on all ranks of the test.
struct Drawing {
  explicit Drawing(const ProcessGrid& grid, StepOptions asked = fp32(), const Model& of = small())
      : model(of),
        options(asked),
        program(record_evaluation(model, options, stage_of(grid, world.rank()))),
        channels(grid, program.channels, TransportKind::ring, ProgressMode::none, backend.memory()),
        weights(program, grid, world.rank(), backend.memory()),
        sampler({world, channels, backend}, model, options, 5, weights) {
    weights.initialise(model, run_seed);
    roughen(model, weights);
  }
  static Model small() { return {"small", 2, 16, 8, 12, 11}; }
  // Two heads of queries for each of keys and values, and positions that turn them.
  static Model small_llama() {
    Model model = as_llama(small());
    model.rotary = {.base = 100.0, .scaling = 8.0, .trained_tokens = 32};
    model.head_size = 4;
    return model;
  }
  static StepOptions fp32() {
    StepOptions options;
    options.precision = Precision::fp32;
    return options;
  }
  Texts draw(Decoding decoding, std::int64_t words,
             const Texts& prompts = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 1, 1}, {10, 0, 3}}) {
    SamplingSettings settings;
    settings.temperature = 0.0;
    settings.tokens = words;
    settings.decoding = decoding;
    return sampler.draw(prompts, settings);
  }

  Model model;
  StepOptions options;
  World world;
  Program program;
  ReferenceBackend backend;
  Channels channels;
  Weights weights;
  Sampler sampler;
};

// Of 8 ranks every third, but for the plain model.
std::vector<ProcessGrid> grids_for(const Model& model) {
  const std::vector<ProcessGrid> all = grids_and_pipelines_of_all_ranks(2);
  const bool some = world_size() > 4 && model.norm != NormKind::layer;
  std::vector<ProcessGrid> grids;
  for (std::size_t i = 0; i < all.size(); i += some ? 3 : 1) {
    if (model.kv_heads() % all[i].extent(Axis::x) == 0) grids.push_back(all[i]);
  }
  return grids;
}

// Beyond the model's 12 words, too, where the cache is of no use any more.
void expect_same_words(const Model& model, const StepOptions& options = Drawing::fp32()) {
  for (const ProcessGrid& grid : grids_for(model)) {
    Drawing run(grid, options, model);
    const Texts expected = run.draw(Decoding::whole, 16);

    EXPECT_EQ(run.draw(Decoding::cached, 16), expected) << grid.str();
    EXPECT_EQ(run.draw(Decoding::cached, 16), expected) << grid.str() << ", a second time";
    EXPECT_NE(expected[0], expected[1]);
  }
}

// Of keys of their own and of shared ones, at turned positions, with windows and norms of heads.
TEST(KeyValueCache, DrawsTheSameWordsAsWithoutOnEveryGrid) {
  expect_same_words(Drawing::small());
  Model model = Drawing::small_llama();
  expect_same_words(model);
  expect_same_words(model, StepOptions{});  // in bf16
  model.layer_pattern = "attention window_tokens=4, attention";
  for (QueryKeyNormKind kind : {QueryKeyNormKind::heads, QueryKeyNormKind::all}) {
    model.query_key_norm = kind;
    expect_same_words(model);
  }
}

// Prompts that are as long as the texts before have become would look as if they had been read.
TEST(KeyValueCache, ForgetsTheTextsBefore) {
  Drawing run(grids_of_all_ranks().front());
  Texts prompts = run.draw(Decoding::cached, 4);
  for (auto& prompt : prompts) std::ranges::reverse(prompt);
  const Texts expected = run.draw(Decoding::whole, 3, prompts);
  run.draw(Decoding::cached, 4);

  EXPECT_EQ(run.draw(Decoding::cached, 3, prompts), expected);
}

// Words `first` to `last` of each text, with what is there then; the rest of `row` is padding.
Batch words_of(const Batch& whole, std::int64_t first, std::int64_t last, std::int64_t row) {
  Batch batch{whole.sequences, {}, {}, last};
  const std::int64_t sequence = std::ssize(whole.tokens) / whole.sequences;
  for (std::int64_t text = 0; text < whole.sequences; ++text) {
    for (std::int64_t t = first; t < first + row; ++t) {
      batch.tokens.push_back(t < last ? whole.tokens[static_cast<std::size_t>(text * sequence + t)]
                                      : 0);
    }
  }
  batch.targets = batch.tokens;
  return batch;
}

// A phase of the drawing's model, and the referee's.
struct Phased {
  Phased(Drawing& drawing, Phase phase, Caches& caches, std::int64_t texts)
      : run(drawing),
        schedule(schedule_of_texts(run.model, options_of_texts(run.options, phase), Stage{0, 1})),
        executor(executor_of({run.world, run.channels, run.backend}, run.model, schedule, texts,
                             run.weights, &caches)),
        referee(run.model, schedule, run.weights.grid(), run_seed) {
    roughen(run.model, referee);
  }

  void expect_equal_steps(const Batch& batch) {
    const Share own = share(run.weights.grid(), run.world.rank(), 0, std::ssize(batch.tokens));
    const auto first = batch.tokens.begin() + static_cast<std::ptrdiff_t>(own.first);
    LocalBatch local{batch.sequences, {first, first + static_cast<std::ptrdiff_t>(own.count)}, {}};
    local.targets = local.tokens;
    local.length = batch.length;
    executor.step(local, {}, 1);
    referee.step(batch, {});
    const std::vector<float> logits = numbers_of(run.backend.memory(), executor.logits());
    EXPECT_EQ(
        logits,
        referee.kept(schedule.program.logits)[static_cast<std::size_t>(run.world.rank())].values)
        << run.weights.grid().str() << ", " << *batch.length << " words";
  }

  Drawing& run;
  Schedule schedule;
  Executor executor;
  Lockstep<float> referee;
};

TEST(KeyValueCache, IsTheRefereesBitForBitAndAsLargeAsCounted) {
  for (const ProcessGrid& grid : some_grids()) {
    if (Drawing::small_llama().kv_heads() % grid.extent(Axis::x) != 0) continue;
    Drawing run(grid, Drawing::fp32(), Drawing::small_llama());
    const std::int64_t texts = sequences_of_texts(5, grid);
    const Batch whole = random_batch(run.model, texts, 3);
    Caches caches(run.backend.memory());
    Phased prefill(run, Phase::prefill, caches, texts);
    Phased decode(run, Phase::decode, caches, texts);

    prefill.expect_equal_steps(words_of(whole, 0, 3, run.model.sequence));
    decode.referee.take_caches(prefill.referee);
    for (std::int64_t t = 3; t < run.model.sequence; ++t) {
      decode.expect_equal_steps(words_of(whole, t, t + 1, 1));
    }

    const Folded folded = fold_schedule(decode.schedule);
    LocalSizes sizes;
    sizes.evaluate(folded, grid, {texts});
    const MemoryUse use = peak_memory(folded, sizes, grid);
    EXPECT_EQ(static_cast<double>(caches.bytes()),
              use.by_role[static_cast<int>(Role::cache)].value);
  }
}

TEST(Sampler, GivesTheLogitsThatTheLikeliestWordIsDrawnBy) {
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    Drawing run(grid);

    const std::vector<float> logits = run.sampler.logits_after({1, 2, 3});

    ASSERT_EQ(logits.size(), 11u);
    const auto likeliest = std::ranges::max_element(logits) - logits.begin();
    EXPECT_EQ(run.draw(Decoding::cached, 1)[0].back(), likeliest) << grid.str();
  }
}

// Counts what kernels are asked for.
class CountingBackend : public ReferenceBackend {
 public:
  void compute(const Device& device, const Op& op, const KernelOperands& operands,
               const ProgressCall& progress) override {
    if (op.kind == OpKind::gemm) rows += operands.output.rows;
    ReferenceBackend::compute(device, op, operands, progress);
  }
  std::int64_t rows = 0;
};

TEST(KeyValueCache, ReadsEachWordOnce) {
  const ProcessGrid grid = grids_of_all_ranks().front();
  Drawing run(grid);
  CountingBackend counting;
  Channels channels(grid, run.program.channels, TransportKind::ring, ProgressMode::none,
                    counting.memory());
  Weights weights(run.program, grid, run.world.rank(), counting.memory());
  Sampler sampler({run.world, channels, counting}, run.model, run.options, 5, weights);
  SamplingSettings settings;
  settings.tokens = 9;
  const auto rows_of = [&](Decoding decoding) {
    counting.rows = 0;
    settings.decoding = decoding;
    sampler.draw({1, 2, 3}, settings);
    return counting.rows;
  };

  const std::int64_t whole = rows_of(Decoding::whole);

  // Four products a block, and that of the logits, which are the last word's. Nine passes over 12
  // words each, or one over 12 and eight over one.
  const std::int64_t of_text = 4 * 2 * 12 + 1, of_word = 4 * 2 + 1;
  EXPECT_EQ(rows_of(Decoding::cached) * 9 * of_text, whole * (of_text + 8 * of_word));
}

TEST(Completions, CountEqualWordsFromTheStart) {
  Drawing run(grids_of_all_ranks().front());
  const auto text = [](const std::vector<std::int32_t>& words) {
    return std::string(words.begin(), words.end());
  };
  std::vector<Document> documents;
  for (const std::vector<std::int32_t>& written : run.draw(Decoding::cached, 6)) {
    documents.push_back({text(written).substr(0, 3), text(written).substr(3)});
  }
  documents.push_back({documents[0].prompt, documents[0].completion.substr(0, 4)});
  documents[1].completion[2] ^= 1;

  const Completions made = complete(documents, 5, Decoding::cached, run.sampler);

  EXPECT_THAT(made.equal, ElementsAre(6, 2, 6, 6, 6, 4));
  EXPECT_THAT(made.words, ElementsAre(6, 6, 6, 6, 6, 4));
  EXPECT_EQ(made.whole(), 5);
  EXPECT_EQ(made.all_words(), 34);
}

TEST(Completions, RefuseFilesThatCannotBeCompleted) {
  const SharedFolder folder;
  const auto refusal_of = [&](const std::string& text) {
    const std::string file = folder.write("a.jsonl", text);
    return refusal([&] { read_documents(file); });
  };

  EXPECT_THAT(refusal_of("{\"completion\": \"a\"}"), HasSubstr("has a document without a prompt"));
  EXPECT_THAT(refusal_of("no"), HasSubstr("line 1"));
  EXPECT_THAT(refusal([] { read_documents("/nowhere.jsonl"); }), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace fourfold::tests
