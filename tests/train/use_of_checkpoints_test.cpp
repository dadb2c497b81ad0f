// A real checkpoint of a tiny model in use, on every grid of these ranks and without training:
// texts that are drawn from it, and its loss on files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/evaluate.hpp"
#include "engine/train/sample/sample.hpp"
#include "tests/train/made_up_weights.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string lines(int count, const std::string& what) {
  std::string text;
  for (int i = 0; i < count; ++i) text += what + std::to_string(i % 7) + "\n";
  return text;
}

// A model that has begun to learn one sentence, and what is asked of it as a rule.
struct Trained {
  Trained() {
    TrainSettings settings = small_run(folder);
    settings.data.files = {folder.write("text.txt", lines(300, "the quick brown fox "))};
    settings.data.validation_files = {folder.write("held-out.txt", lines(9, "a lazy brown dog "))};
    settings.data.validation_words = 0;
    settings.length.steps = 20;
    settings.sampling.texts = 2;
    settings.sampling.tokens = 15;
    settings.sampling.temperature = 0.5;
    settings.sampling.prompt = "the";
    settings.sampling.seed = 5;
    outcome = train_model(settings, world);
    text.checkpoint = loss.checkpoint = settings.folder + "/checkpoints";
    text.grid = loss.grid = settings.grid;
    text.screen = loss.screen = Screen::silent;
    text.sampling = settings.sampling;
    loss.files = settings.data.validation_files;
  }

  SharedFolder folder;
  World world;
  TrainOutcome outcome;
  SampleSettings text;
  EvaluateSettings loss;
};

class UseOfACheckpoint : public testing::Test {
 protected:
  static void SetUpTestSuite() { trained_ = std::make_unique<Trained>(); }
  static void TearDownTestSuite() { trained_.reset(); }

  static inline std::unique_ptr<Trained> trained_;
  const SharedFolder& folder_ = trained_->folder;
  World& world_ = trained_->world;
};

// Every grid that the model's 8 heads allow, and pipelines.
std::vector<ProcessGrid> fitting_grids() {
  const std::int64_t ranks = world_size();
  std::vector<ProcessGrid> grids;
  for (const ProcessGrid& grid : grids_of(ranks)) {
    if (8 % grid.extent(Axis::x) == 0) grids.push_back(grid);
  }
  if (ranks >= 2) {
    grids.emplace_back(1, 1, 1, ranks / 2, 2);
    grids.emplace_back(ranks / 2, 1, 1, 1, 2);
  }
  return grids;
}

class sample_of_a_checkpoint : public UseOfACheckpoint {
 protected:
  SampleSettings asked_ = trained_->text;
};

class EvaluationOf : public UseOfACheckpoint {
 protected:
  EvaluateSettings asked_ = trained_->loss;
};

TEST_F(sample_of_a_checkpoint, is_what_training_drew_at_its_end) {
  const SampledTexts drawn = sample_words(asked_, world_);

  EXPECT_EQ(drawn.texts, trained_->outcome.texts);
  EXPECT_EQ(drawn.state.step, 20);
  EXPECT_EQ(drawn.format, TokenFormat::text);
}

// Beyond the model's 16 tokens of sequence, too.
TEST_F(sample_of_a_checkpoint, is_the_same_text_on_every_grid) {
  asked_.sampling.texts = 1;
  for (const double temperature : {0.0, 1.0}) {
    asked_.sampling.temperature = temperature;
    asked_.sampling.top_p = temperature > 0.0 ? 0.9 : 1.0;
    asked_.grid = trained_->text.grid;
    const SampledTexts first = sample_words(asked_, world_);
    ASSERT_EQ(first.texts[0].size(), 18U);
    for (const ProcessGrid& grid : fitting_grids()) {
      asked_.grid = grid;
      EXPECT_EQ(sample_words(asked_, world_).texts, first.texts) << grid.str();
    }
  }
}

// Texts that end go on beside the others, whose words do not change.
TEST_F(sample_of_a_checkpoint, ends_where_it_is_told_to) {
  asked_.sampling.texts = 4;
  asked_.sampling.temperature = 1.0;
  asked_.sampling.top_p = 0.95;
  const Texts whole = sample_words(asked_, world_).texts;
  const std::size_t prompt = asked_.sampling.prompt.size();
  const std::int32_t end_word = whole[0][prompt + 5];
  asked_.sampling.endings = {{end_word}, {{whole[1][prompt + 3], whole[1][prompt + 4]}}};

  const SampledTexts ended = sample_words(asked_, world_);

  ASSERT_EQ(ended.texts.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Ending ending = ending_of(whole[i], prompt, asked_.sampling.endings);
    std::vector<std::int32_t> expected = whole[i];
    expected.resize(ending.words);
    EXPECT_EQ(ended.texts[i], expected);
    EXPECT_EQ(ended.ended_by[i], ending.by);
  }
  EXPECT_LT(ended.texts[0].size(), whole[0].size());
  EXPECT_LT(ended.texts[1].size(), whole[1].size());
}

TEST_F(sample_of_a_checkpoint, has_another_text_for_each_place_and_seed) {
  asked_.sampling.temperature = 2.0;
  asked_.sampling.texts = 3;
  std::set<std::vector<std::int32_t>> seen;
  for (const std::uint64_t seed : {std::uint64_t{1}, (std::uint64_t{1} << 32) + 1}) {
    asked_.sampling.seed = seed;
    const Texts texts = sample_words(asked_, world_).texts;
    seen.insert(texts.begin(), texts.end());
  }

  EXPECT_EQ(seen.size(), 6U);
}

// Of the words that are drawn, and not of those that were there; in both precisions.
TEST_F(sample_of_a_checkpoint, has_the_speed_of_what_is_drawn) {
  asked_.sampling.temperature = 0.0;
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    asked_.precision = precision;
    for (const auto& [texts, tokens] : {std::pair{1, 4}, {3, 1}}) {
      asked_.sampling.texts = texts;
      asked_.sampling.tokens = tokens;
      const SampledTexts drawn = sample_words(asked_, world_);
      EXPECT_NEAR(drawn.words_per_second * drawn.seconds, tokens * texts, 1e-6);
      EXPECT_EQ(std::string(drawn.texts[0].begin(), drawn.texts[0].begin() + 3), "the");
    }
  }
}

TEST_F(sample_of_a_checkpoint, is_one_line_of_json) {
  asked_.sampling.tokens = 3;
  const SampledTexts drawn = sample_words(asked_, world_);
  const std::string text = json_line(asked_, drawn);
  const nlohmann::json line = nlohmann::json::parse(text);

  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(line.at("kind"), "sample");
  EXPECT_EQ(line.at("step"), 20);
  EXPECT_EQ(line.at("grid"), asked_.grid.str());
  EXPECT_EQ(line.at("texts").size(), 2U);
  EXPECT_EQ(line.at("texts").at(0).at("words").size(), 6U);
  EXPECT_THAT(line.at("texts").at(0).at("text"), HasSubstr("the"));
  EXPECT_THAT(line.at("libraries"), HasSubstr("OpenBLAS"));
}

TEST_F(sample_of_a_checkpoint, that_does_not_name_its_words_is_refused) {
  TrainingState state = made_up_state(70);
  const Weights weights =
      made_up_weights(training_program(small_model(), Precision::fp32), asked_.grid, 1);
  Checkpoints(folder_.file("unnamed")).write(state, weights);
  asked_.checkpoint = folder_.file("unnamed");

  EXPECT_THAT(refusal([&] { sample_words(asked_, world_); }),
              AllOf(HasSubstr("bytes of text or tokens"), HasSubstr("--resume")));
}

TEST_F(EvaluationOf, ACheckpointIsWhatTrainingSaidAtItsEnd) {
  for (const ProcessGrid& grid : fitting_grids()) {
    for (const std::int64_t batch : {0, 1, 3}) {
      SCOPED_TRACE(grid.str() + " by " + std::to_string(batch));
      asked_.grid = grid;
      asked_.batch = batch * grid.extent(Axis::z) * grid.extent(Axis::data);

      const Evaluation made = evaluate(asked_, world_);

      ASSERT_EQ(made.files.size(), 1U);
      EXPECT_EQ(made.files[0].loss.words, 9 * 19 - 1);
      EXPECT_NEAR(made.files[0].loss.mean, trained_->outcome.validation_loss,
                  1e-6 * trained_->outcome.validation_loss);
      EXPECT_EQ(made.state.step, 20);
    }
  }
}

// Of several files the words count alike, those of a long one more often.
TEST_F(EvaluationOf, SeveralFilesIsTheMeanOverTheirWords) {
  asked_.files = {trained_->folder.file("held-out.txt"), trained_->folder.file("te*.txt")};

  const Evaluation made = evaluate(asked_, world_);

  ASSERT_EQ(made.files.size(), 2U);
  const auto& [held_out, text] = std::pair(made.files[0].loss, made.files[1].loss);
  EXPECT_GT(held_out.mean, text.mean);
  EXPECT_EQ(made.all().words, held_out.words + text.words);
  EXPECT_NEAR(made.all().mean,
              (held_out.mean * static_cast<double>(held_out.words) +
               text.mean * static_cast<double>(text.words)) /
                  static_cast<double>(made.all().words),
              1e-12);
  asked_.most_words = 10;
  EXPECT_EQ(evaluate(asked_, world_).all().words, 20);
}

TEST_F(EvaluationOf, AFileThatIsGivenTwiceIsNamed) {
  const std::string one = trained_->folder.file("held-out.txt");
  const std::string same = trained_->folder.write("same.txt", lines(9, "a lazy brown dog "));
  asked_.files = {one, trained_->folder.file("text.txt"), one, same};

  const Evaluation made = evaluate(asked_, world_);

  const std::vector<std::string> wanted{
      one + " is evaluated twice", same + " is evaluated twice: it holds what " + one + " holds"};
  EXPECT_EQ(made.files.size(), 4U);
  if (world_.rank() != 0) return;
  EXPECT_EQ(made.data_remarks, wanted);
  EXPECT_THAT(text_of(made), HasSubstr(wanted.front() + "\n" + wanted.back() + "\n"));
  EXPECT_EQ(nlohmann::json::parse(json_line(asked_, made)).at("data_remarks"), wanted);
}

TEST_F(EvaluationOf, SaysWhatItFoundInLinesAndInJson) {
  Evaluation made;
  made.state = read_training_state(asked_.checkpoint);
  made.files = {{"a.txt", {std::log(4.0), 3}}, {"b.txt", {std::log(2.0), 1}}};

  EXPECT_EQ(text_of(made),
            "a.txt: loss 1.3863 nats = 2.000 bits a byte, perplexity 4, over 3 bytes\n"
            "b.txt: loss 0.6931 nats = 1.000 bits a byte, perplexity 2, over 1 byte\n"
            "all 2 files: loss 1.2130 nats = 1.750 bits a byte, perplexity 3.364, over 4 bytes\n");
  const nlohmann::json line = nlohmann::json::parse(json_line(asked_, made));
  EXPECT_EQ(line.at("kind"), "evaluation");
  EXPECT_EQ(line.at("words"), 4);
  EXPECT_NEAR(line.at("bits").get<double>(), 1.75, 1e-12);
  EXPECT_EQ(line.at("files").at(1).at("path"), "b.txt");
  EXPECT_NEAR(line.at("files").at(0).at("perplexity").get<double>(), 4.0, 1e-12);
  EXPECT_EQ(line.at("step"), 20);
}

TEST_F(EvaluationOf, WhatDoesNotFitIsRefused) {
  const SharedFolder folder;
  const auto said = [&](const std::string& name, const std::string& content) {
    asked_.files = {folder.write(name, content)};
    return refusal([&] { evaluate(asked_, world_); });
  };

  EXPECT_THAT(said("a.bin", "12345678"),
              AllOf(HasSubstr("a.bin holds tokens as words"), HasSubstr("was trained on bytes")));
  EXPECT_THAT(said("a.txt", "x"), HasSubstr("has 1 byte, of which none is a target"));
  const std::string document = R"({"prompt": "a long one", "completion": "yes"})";
  const std::int64_t all = std::exchange(asked_.most_words, 5);
  EXPECT_THAT(said("a.jsonl", document + "\n"),
              AllOf(HasSubstr("the first 5 bytes of "), HasSubstr("give more --words")));
  asked_.most_words = all;
  EXPECT_EQ(said("a.jsonl", document + "\n"), "");
  EXPECT_THAT(said("a.txt", "na\xC3\xAFve"), HasSubstr("needs one of at least 196"));
  EXPECT_THAT(said("a.txt", ""), HasSubstr("is empty"));
  asked_.files = {folder.file("none*.txt")};
  EXPECT_THAT(refusal([&] { evaluate(asked_, world_); }), HasSubstr("no file matches"));
}

}  // namespace
}  // namespace fourfold::tests
