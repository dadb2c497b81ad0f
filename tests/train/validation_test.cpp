// The loss on held-out text: a mean over batches of it, of no more batches than it has.
#include "engine/train/run/validation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/cpu/reference_backend.hpp"
#include "engine/words.hpp"
#include "schedule/order/step.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold {
namespace {

// On all ranks of the test, each with sequences of its own: 8 of 8 words are a batch.
class ValidationOf : public testing::Test {
 protected:
  static constexpr std::int64_t sequences = 8;
  const Model model_{"small", 1, 16, 2, 8, 128};
  const StepOptions options_ = [] {
    StepOptions options;
    options.precision = Precision::fp32;
    return options;
  }();
  const ProcessGrid grid_{1, 1, 1, world_size()};
  World world_;
  const Program program_ = record_step(model_, options_);
  ReferenceBackend backend_;
  Channels channels_{grid_, program_.channels, Transport::ring, ProgressMode::none,
                     backend_.memory()};
  Worker worker_{world_, channels_, backend_};
  Weights weights_ = [this] {
    Weights weights(program_, grid_, world_rank(), backend_.memory());
    weights.initialise(model_, 5);
    return weights;
  }();
  SharedFolder folder_;

  // So many sequences to validate on, and one word more, the last target.
  Data held_out(std::int64_t count) { return held_out_words(count * model_.sequence + 1); }
  Data held_out_words(std::int64_t words) {
    std::string text;
    for (std::int64_t i = 0; i < words; ++i) {
      text += static_cast<char>('a' + i * i / 7 % 26);
    }
    DataOptions options;
    options.files = {folder_.write("train.txt", std::string(200, 'x'))};
    options.validation_files = {folder_.write("held-out.txt", text)};
    return Data(options, model_);
  }
  Validation validation() { return {worker_, model_, options_, sequences, weights_}; }

  // The mean loss of these batches, each by its own forward pass.
  double mean_of(const Data& data, std::initializer_list<std::int64_t> batches) {
    Executor executor = evaluation_executor(worker_, model_, options_, sequences, weights_);
    double sum = 0.0;
    for (std::int64_t batch : batches) {
      const LocalBatch words =
          data.validation(batch * sequences, {grid_, world_rank(), sequences, 1});
      sum += executor.step(words, {}, 1).loss;
    }
    return sum / static_cast<double>(batches.size());
  }
};

TEST_F(ValidationOf, SomeBatchesIsTheirMean) {
  const Data data = held_out(4 * sequences);
  Validation validation = this->validation();

  EXPECT_DOUBLE_EQ(validation.loss(data, 1).mean, mean_of(data, {0}));
  EXPECT_DOUBLE_EQ(validation.loss(data, 3).mean, mean_of(data, {0, 1, 2}));
  EXPECT_EQ(validation.loss(data, 3).words, 3 * sequences * model_.sequence);
  EXPECT_NE(mean_of(data, {0}), mean_of(data, {1}));
}

// Three batches and five sequences: the rest would be a batch that begins again from the front.
TEST_F(ValidationOf, MoreBatchesThanAreHeldOutIsThatOfAllThereAre) {
  const Data data = held_out(3 * sequences + 5);
  Validation validation = this->validation();

  const double all = validation.loss(data, 3).mean;

  EXPECT_DOUBLE_EQ(all, mean_of(data, {0, 1, 2}));
  for (std::int64_t batches : {4, 100}) {
    EXPECT_EQ(validation.loss(data, batches).mean, all) << batches;
    EXPECT_EQ(validation.loss(data, batches).words, 3 * sequences * model_.sequence) << batches;
  }
}

// Five sequences are less than a batch: it takes them from the front again.
TEST_F(ValidationOf, LessThanABatchIsOneBatch) {
  const Data data = held_out(5);
  Validation validation = this->validation();

  EXPECT_EQ(data.validation_sequences(), 5);
  EXPECT_DOUBLE_EQ(validation.loss(data, 4).mean, mean_of(data, {0}));
  EXPECT_EQ(validation.loss(data, 4).words, sequences * model_.sequence);
  EXPECT_TRUE(std::isfinite(validation.loss(data, 4).mean));
}

// The mean is over targets of completions: prompts are no part of it, on whatever rank they lie.
TEST_F(ValidationOf, SaysHowManyWordsAreInTheMean) {
  DataOptions options;
  options.files = {folder_.write("train.txt", std::string(200, 'x'))};
  std::string documents;
  for (int i = 0; i < 12; ++i) {
    documents += R"({"prompt": "one, two, three", "completion": "four"})"
                 "\n";
  }
  options.validation_files = {folder_.write("held-out.jsonl", documents)};
  const Data data(options, model_);
  const LocalBatch whole = data.validation(0, {ProcessGrid(1, 1, 1, 1), 0, sequences, 1});
  const std::int64_t counted = counted_targets(whole.targets);

  const HeldOutLoss loss = validation().loss(data, 1);

  EXPECT_EQ(loss.words, counted);
  EXPECT_LT(counted, sequences * model_.sequence);
}

// Each target counts once: a batch that has fewer of them weighs less.
TEST_F(ValidationOf, WeighsItsBatchesByTheirTargets) {
  DataOptions options;
  options.files = {folder_.write("train.txt", std::string(200, 'x'))};
  std::string documents;
  for (std::size_t i = 0; i < 20; ++i) {
    const std::size_t prompt = i < 10 ? 0 : 12;
    documents +=
        nlohmann::json{{"prompt", std::string(prompt, 'q')}, {"completion", "four"}}.dump();
    documents += '\n';
  }
  options.validation_files = {folder_.write("held-out.jsonl", documents)};
  const Data data(options, model_);
  const BatchShare alone{ProcessGrid(1, 1, 1, 1), 0, sequences, 1};
  const std::int64_t first = counted_targets(data.validation(0, alone).targets),
                     second = counted_targets(data.validation(sequences, alone).targets);

  const HeldOutLoss loss = validation().loss(data, 2);

  EXPECT_GT(first, second + 10);
  EXPECT_EQ(loss.words, first + second);
  // These means are over all words, left out or not.
  const auto words = static_cast<double>(2 * sequences * model_.sequence);
  EXPECT_NEAR(loss.mean, mean_of(data, {0, 1}) * words / static_cast<double>(first + second), 1e-6);
}

// The last sequence that is held out ends with the last word as its target, and the next is the
// first again.
TEST_F(ValidationOf, SequencesAfterTheLastBeginAgain) {
  const Data data = held_out(5);
  const BatchShare alone{ProcessGrid(1, 1, 1, 1), 0, 1, 1};

  EXPECT_EQ(data.validation(5, alone).tokens, data.validation(0, alone).tokens);
  EXPECT_EQ(data.validation(9, alone).targets, data.validation(4, alone).targets);
  EXPECT_NE(data.validation(4, alone).tokens, data.validation(0, alone).tokens);
}

TEST_F(ValidationOf, ASequenceWithoutItsLastTargetIsNone) {
  EXPECT_EQ(held_out_words(5 * model_.sequence).validation_sequences(), 4);
  EXPECT_EQ(held_out_words(5 * model_.sequence + 1).validation_sequences(), 5);
}

}  // namespace
}  // namespace fourfold
