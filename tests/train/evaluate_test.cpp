// The loss of a real checkpoint of a tiny model on files, on every grid of these ranks.
#include "engine/train/run/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "engine/train/checkpoint/checkpoint_read.hpp"
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

// A model that has begun to learn one sentence.
struct Trained {
  Trained() {
    TrainSettings settings = small_run(folder);
    settings.data.files = {folder.write("text.txt", lines(300, "the quick brown fox "))};
    settings.data.validation_files = {folder.write("held-out.txt", lines(9, "a lazy brown dog "))};
    settings.data.validation_words = 0;
    settings.length.steps = 12;
    outcome = train_model(settings, world);
    asked.checkpoint = settings.folder + "/checkpoints";
    asked.files = settings.data.validation_files;
    asked.grid = settings.grid;
    asked.screen = Screen::silent;
  }

  SharedFolder folder;
  World world;
  TrainOutcome outcome;
  EvaluateSettings asked;
};

class EvaluationOf : public testing::Test {
 protected:
  static void SetUpTestSuite() { trained_ = std::make_unique<Trained>(); }
  static void TearDownTestSuite() { trained_.reset(); }

  static inline std::unique_ptr<Trained> trained_;
  World& world_ = trained_->world;
  EvaluateSettings asked_ = trained_->asked;
};

TEST_F(EvaluationOf, ACheckpointIsWhatTrainingSaidAtItsEnd) {
  std::vector<ProcessGrid> grids = grids_of(world_.size());
  if (world_.size() >= 2) grids.emplace_back(1, 1, 1, world_.size() / 2, 2);
  for (const ProcessGrid& grid : grids) {
    if (8 % grid.extent(Axis::x) != 0) continue;
    for (const std::int64_t batch : {0, 1, 3}) {
      SCOPED_TRACE(grid.str() + " by " + std::to_string(batch));
      asked_.grid = grid;
      asked_.batch = batch * grid.extent(Axis::z) * grid.extent(Axis::data);

      const Evaluation made = evaluate(asked_, world_);

      ASSERT_EQ(made.files.size(), 1U);
      EXPECT_EQ(made.files[0].loss.words, 9 * 19 - 1);
      EXPECT_NEAR(made.files[0].loss.mean, trained_->outcome.validation_loss,
                  1e-6 * trained_->outcome.validation_loss);
      EXPECT_EQ(made.state.step, 12);
      EXPECT_FALSE(made.stopped);
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
  EXPECT_EQ(line.at("step"), 12);
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
