// What nobody decided is searched: no value that was left open would have been better.
#include "scaling/records/open_options.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scaling/find/find_answer.hpp"
#include "scaling/find/idle_flags.hpp"
#include "scaling/records/asked_stages.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/drawn_steps.hpp"

namespace fourfold::tests {
namespace {

Question asked(std::int64_t devices, std::int64_t batch, const char* system) {
  Question question;
  question.platform = "perlmutter";
  question.model = read_model("gpt-5b");
  question.devices = devices;
  question.global_batch = batch;
  const Platform platform = read_platform("perlmutter");
  if (*system != '\0') ask_of_system(question, read_system(system), {{}, "nobody"}, platform);
  return question;
}

Seconds answer(const Question& question) {
  const auto quiet = [](const std::string&, double) {};
  return find_answer(question, Fidelity::estimated, {}, quiet).outcome().total;
}

TEST(OpenOptions, HaveNoValueThatWouldHaveBeenBetter) {
  for (const char* system : {"", "axonn-4d", "megatron-lm-2022"}) {
    for (const auto& [devices, batch] : {std::pair{16, 64}, std::pair{64, 256}}) {
      Question open = asked(devices, batch, system);
      leave_open(open, {});
      ASSERT_GT(open.variants.size(), 1u) << system;
      const Seconds found = answer(open);
      for (const StepOptions& one : open.variants) {
        Question decided = open;
        decided.options = one;
        decided.variants.clear();
        try {
          EXPECT_LE(found, answer(decided)) << system << ": " << chosen_flags(open, one);
        } catch (const DoesNotFit&) {
          continue;
        }
      }
    }
  }
}

TEST(OpenOptions, ThatSomebodyDecidedStay) {
  const FieldValues typed{{"recompute", std::string("full")}, {"zero", std::int64_t{1}}};
  Question question = asked(16, 64, "");
  step_fields().set(question.options, typed);
  leave_open(question, typed);
  for (const StepOptions& one : question.variants) {
    EXPECT_EQ(one.recompute, Recompute::full);
    EXPECT_EQ(one.zero, 1);
  }
  EXPECT_EQ(question.variants.size(), 8u);  // sequence parallelism and both reductions are left
  EXPECT_EQ(chosen_flags(question, question.variants.back()),
            "--gradient-reduction accumulated --data-reduction beside-backward "
            "--sequence-parallel on");
}

TEST(OpenOptions, OfASystemAreWhatItAllows) {
  Question question = asked(16, 64, "axonn-4d");
  leave_open(question, {});
  for (const StepOptions& one : question.variants) {
    EXPECT_EQ(forbidden(*question.system, one), "");
  }
  EXPECT_EQ(question.set_by["recompute"], "search");
  EXPECT_EQ(question.set_by["data_reduction"], "system");
}

// Of drawn counts of layers: the length of the pipeline is theirs, or one sentence says why not. A
// search that finds nothing but grids of other lengths is no answer.
TEST(OpenOptions, LayersOfStagesDecideHowManyThereAre) {
  int decided = 0, refused = 0;
  for (std::int64_t number = 0; number < 300; ++number) {
    const Draw draw(number, 0);
    Question question = asked(draw.of<std::int64_t>("devices", {12, 16, 30}), 64, "");
    const std::int64_t chunks = draw.of<std::int64_t>("chunks", {1, 1, 2});
    if (chunks > 1) question.options.order = PipelineOrder::interleaved;
    question.options.chunks = chunks;
    const std::int64_t counts = chunks * draw.of<std::int64_t>("counts", {2, 3, 4, 6});
    std::int64_t left = question.model.layers + (draw.often("off", 20) ? 1 : 0);
    std::string text;
    for (std::int64_t i = 0; i + 1 < counts; ++i) {
      const std::int64_t layers = 1 + draw.below(fmt::format("layers {}", i), 24 / counts);
      text += fmt::format("{},", layers);
      left -= layers;
    }
    question.options.layers_per_stage = LayersPerStage::parse(text + fmt::format("{}", left));
    SCOPED_TRACE(question.options.layers_per_stage.str());
    try {
      ask_for_stages(question);
      ++decided;
      for (const std::int64_t stages : question.stages) {
        EXPECT_GT(stages, 1);
        EXPECT_EQ(question.devices % stages, 0);
        EXPECT_TRUE(stages == counts || stages * chunks == counts) << stages;
        EXPECT_EQ(question.options.layers_per_stage.fault(question.model.layers, stages, chunks),
                  "");
      }
    } catch (const std::runtime_error& error) {
      ++refused;
      const std::string said = error.what();
      const bool sum = said.find("together; the model has 24") != std::string::npos;
      const bool divide = said.find("do not divide") != std::string::npos;
      EXPECT_TRUE(sum || divide) << said;
    }
  }
  EXPECT_GT(decided, 50);
  EXPECT_GT(refused, 50);
}

// What was typed for an axis that a grid lacks changes nothing and is named; where there is the
// axis it is not.
TEST(OpenOptions, ThatChangeNothingAreNamed) {
  struct Case {
    const char *key, *named;
    FieldValue value;
    ProcessGrid without, with;
  };
  const std::vector<Case> cases{
      {"zero", "--zero 3", std::int64_t{3}, ProcessGrid(1, 1, 16, 1), ProcessGrid(1, 1, 4, 4)},
      {"sequence_parallel", "--sequence-parallel on", true, ProcessGrid(1, 1, 16, 1),
       ProcessGrid(4, 1, 4, 1)},
      {"weight_gather", "--weight-gather keep", std::string("keep"), ProcessGrid(4, 1, 1, 4),
       ProcessGrid(4, 1, 4, 1)},
      {"in_flight_blocks", "--in-flight-blocks 8", std::int64_t{8}, ProcessGrid(4, 1, 1, 4),
       ProcessGrid(4, 1, 4, 1)},
      {"order", "--order zero-bubble", std::string("zero-bubble"), ProcessGrid(4, 1, 4, 1),
       ProcessGrid(4, 1, 2, 1, 2)},
      {"data_reduction", "--data-reduction beside-backward", std::string("beside-backward"),
       ProcessGrid(4, 1, 4, 1), ProcessGrid(4, 1, 1, 4)}};
  for (const Case& one : cases) {
    const FieldValues typed{{one.key, one.value}};
    Record record;
    record.point = point_of(asked(16, 64, ""), one.without, 4);
    step_fields().set(record.point.options, typed);
    EXPECT_EQ(idle_flags(record, typed), std::vector<std::string>{one.named});
    record.point.grid = one.with;
    EXPECT_EQ(idle_flags(record, typed), std::vector<std::string>{}) << one.named;
  }
}

}  // namespace
}  // namespace fourfold::tests
