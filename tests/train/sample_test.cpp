// Text from a real checkpoint of a tiny model, on every grid of these ranks, without training.
#include "engine/train/sample/sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "tests/train/made_up_weights.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A model that has begun to learn one sentence, in the folder's checkpoints.
struct Trained {
  Trained() {
    TrainSettings settings = small_run(folder);
    settings.length.steps = 20;
    settings.sampling.texts = 2;
    settings.sampling.tokens = 15;
    settings.sampling.temperature = 0.5;
    settings.sampling.prompt = "the";
    outcome = train_model(settings, world);
    asked.checkpoint = settings.folder + "/checkpoints";
    asked.grid = settings.grid;
    asked.sampling = settings.sampling;
    asked.screen = Screen::silent;
  }

  SharedFolder folder;
  World world;
  TrainOutcome outcome;
  SampleSettings asked;
};

class sample_of_a_checkpoint : public testing::Test {
 protected:
  static void SetUpTestSuite() { trained_ = std::make_unique<Trained>(); }
  static void TearDownTestSuite() { trained_.reset(); }

  sample_of_a_checkpoint()
      : folder_(trained_->folder), world_(trained_->world), asked_(trained_->asked) {}

  static inline std::unique_ptr<Trained> trained_;
  const SharedFolder& folder_;
  World& world_;
  SampleSettings asked_;
};

TEST_F(sample_of_a_checkpoint, is_what_training_drew_at_its_end) {
  const SampledTexts drawn = sample_words(asked_, world_);

  EXPECT_EQ(drawn.texts, trained_->outcome.texts);
  EXPECT_EQ(drawn.state.step, 20);
  EXPECT_EQ(drawn.format, TokenFormat::text);
  EXPECT_FALSE(drawn.stopped);
}

// Beyond the model's 16 tokens of sequence, too.
TEST_F(sample_of_a_checkpoint, is_the_same_text_on_every_grid) {
  std::vector<ProcessGrid> grids = grids_of(world_.size());
  if (world_.size() >= 2) {
    grids.emplace_back(1, 1, 1, world_.size() / 2, 2);
    grids.emplace_back(world_.size() / 2, 1, 1, 1, 2);
  }
  asked_.sampling.texts = 1;
  for (const double temperature : {0.0, 1.0}) {
    asked_.sampling.temperature = temperature;
    asked_.sampling.top_p = temperature > 0.0 ? 0.9 : 1.0;
    asked_.grid = trained_->asked.grid;
    const SampledTexts first = sample_words(asked_, world_);
    ASSERT_EQ(first.texts[0].size(), 18U);
    for (const ProcessGrid& grid : grids) {
      if (8 % grid.extent(Axis::x) != 0) continue;
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

TEST_F(sample_of_a_checkpoint, can_be_drawn_in_bf16) {
  asked_.precision = Precision::bf16;
  asked_.sampling.temperature = 0.0;
  asked_.sampling.tokens = 5;

  const SampledTexts drawn = sample_words(asked_, world_);

  EXPECT_EQ(std::string(drawn.texts[0].begin(), drawn.texts[0].begin() + 3), "the");
  EXPECT_EQ(drawn.texts[0].size(), 8U);
}

// Words that are drawn, and not those that were there.
TEST_F(sample_of_a_checkpoint, has_the_speed_of_what_is_drawn) {
  for (const std::int64_t tokens : {1, 4}) {
    asked_.sampling.tokens = tokens;
    for (const std::int64_t texts : {1, 3}) {
      asked_.sampling.texts = texts;
      const SampledTexts drawn = sample_words(asked_, world_);
      EXPECT_NEAR(drawn.words_per_second * drawn.seconds, static_cast<double>(tokens * texts),
                  1e-6);
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

TEST_F(sample_of_a_checkpoint, that_does_not_fit_is_refused_in_words) {
  const auto said = [&](const auto& change) {
    SampleSettings wrong = asked_;
    change(wrong);
    return refusal([&] { sample_words(wrong, world_); });
  };
  EXPECT_THAT(said([](SampleSettings& asked) {
                asked.grid = {3, 1, 1, 1};
              }),
              HasSubstr("heads do not divide along x"));
  EXPECT_THAT(said([](SampleSettings& asked) { asked.sampling.prompt = "caf\xC3\xA9"; }),
              HasSubstr("vocabulary of 128"));
  EXPECT_THAT(said([&](SampleSettings& asked) { asked.checkpoint = folder_.file("nowhere"); }),
              HasSubstr("does not exist"));
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

}  // namespace
}  // namespace fourfold::tests
