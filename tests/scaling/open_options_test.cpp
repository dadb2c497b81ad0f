// What nobody decided is searched: no value that was left open would have been better, and which of
// equals it is; what is asked for in vain is named.
#include "scaling/records/open_options.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/find/candidates.hpp"
#include "scaling/find/idle_flags.hpp"
#include "scaling/find/settle.hpp"
#include "scaling/records/asked_stages.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/small_questions.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
    const LayersPerStage& given = question.options.layers_per_stage =
        LayersPerStage::parse(text + fmt::format("{}", left));
    SCOPED_TRACE(given.str());
    const std::string said = refusal<std::runtime_error>([&] { ask_for_stages(question); });
    ++(said == "accepted" ? decided : refused);
    if (said != "accepted") {
      EXPECT_THAT(said, AnyOf(HasSubstr("together; the model has 24"), HasSubstr("do not divide")));
      continue;
    }
    for (const std::int64_t stages : question.stages) {
      EXPECT_GT(stages, 1);
      EXPECT_EQ(question.devices % stages, 0);
      EXPECT_TRUE(stages == counts || stages * chunks == counts) << stages;
      EXPECT_EQ(given.fault(question.model.layers, stages, chunks), "");
    }
  }
  EXPECT_GT(decided, 50);
  EXPECT_GT(refused, 50);
}

// What was typed for an axis that a grid lacks is named, and where there is the axis it is not;
// that it changes nothing is a law of tests/sim.
TEST(OpenOptions, ThatChangeNothingAreNamed) {
  for (const auto& [key, named, value, without, with] :
       {std::tuple<const char*, const char*, FieldValue, ProcessGrid, ProcessGrid>{
            "zero", "--zero 3", std::int64_t{3}, {1, 1, 16, 1}, {1, 1, 4, 4}},
        {"sequence_parallel", "--sequence-parallel on", true, {1, 1, 16, 1}, {4, 1, 4, 1}},
        {"order",
         "--order zero-bubble",
         std::string("zero-bubble"),
         {4, 1, 4, 1},
         {4, 1, 2, 1, 2}}}) {
    const FieldValues typed{{key, value}};
    Record record;
    record.point = point_of(asked(16, 64, ""), without, 4);
    step_fields().set(record.point.options, typed);
    EXPECT_EQ(idle_flags(record, typed), std::vector<std::string>{named});
    record.point.grid = with;
    EXPECT_EQ(idle_flags(record, typed), std::vector<std::string>{}) << named;
  }
}

// A grid that is stated is answered where it may fit, and not where it does not.
TEST(Settled, SayOfAStatedGridWhatMayFit) {
  Question question = question_on("fat-tree-2", 8);
  question.grid = ProcessGrid(2, 1, 1, 4);
  question.micro_batches = 2;
  Platform platform = read_platform(question.platform);
  const Bytes peak = candidates(question, platform, ignore).feasible.front().estimate.memory.peak;
  platform.processor.usable_memory = 0.9;
  const auto with_room = [&](double share) {
    platform.processor.memory = peak * (share / 0.9);
    return settled(question, platform, ignore).search.feasible.size();
  };

  EXPECT_EQ(with_room(1.2), 1U);
  EXPECT_EQ(with_room(1.0), 1U);
  EXPECT_THROW(with_room(0.9), DoesNotFit);
  question.memory_risk = 0.1;
  EXPECT_THROW(with_room(1.0), DoesNotFit);
}

StepOptions with_zero(std::int64_t zero) {
  StepOptions options;
  options.zero = zero;
  return options;
}

TEST(Settled, TakesTheFirstOfEqualsAndSaysTheFirstReason) {
  Question question = question_on("fat-tree-2", 1);
  question.variants = {with_zero(0), with_zero(1)};  // alike where nothing is cut
  const Platform platform = read_platform(question.platform);

  EXPECT_EQ(settled(question, platform, ignore).question.options, with_zero(0));

  Platform small = platform;
  small.processor.memory = {1e6};
  question.variants = {with_zero(0), with_zero(1)};
  question.variants[0].order = PipelineOrder::gpipe;
  question.micro_batches = 3;
  EXPECT_THAT(refusal<DoesNotFit>([&] { settled(question, small, ignore); }),
              HasSubstr("of the usable 0.0 GB"));
}

// The best of all options is found without an estimate of every pipeline with each of them; but not
// where a search may find what is then refused. With a system, of those that it allows.
TEST(Settled, HaveTheOptionsOfTheFastestPipeline) {
  for (std::int64_t number = 0; number < 8; ++number) {
    Question question =
        question_on(fixed_machines[static_cast<std::size_t>(number) % fixed_machines.size()], 4);
    question.stages = {1, 2, 4};
    const PipelineOrderRow& order =
        pipeline_orders[static_cast<std::size_t>(number) % pipeline_orders.size()];
    question.model.layers = 8;
    question.global_batch = 8;
    const Platform platform = read_platform(question.platform);
    if (number > 5) {
      const System system = read_system(number == 6 ? "axonn-4d" : "megatron-lm-2022");
      ask_of_system(question, system, {{}, "nobody"}, platform);
    } else {
      question.options.order = order.order;
      if (order.chunks) question.options.chunks = 2;
    }
    if (number == 5) question.most_at_once = 1;
    leave_open(question, {});
    ASSERT_GT(question.variants.size(), 1u);
    std::optional<Seconds> least;
    StepOptions first;
    for (const StepOptions& options : question.variants) {
      Question one = question;
      one.options = options;
      std::optional<Seconds> found;  // none where it fits no grid
      refusal<FindingFailed>([&] {
        found = candidates(one, platform, ignore).feasible.front().estimate.outcome.total;
      });
      if (!found || (least && *found >= *least)) continue;
      least = found;
      first = options;
    }

    const Settled best = settled(question, platform, ignore);

    EXPECT_EQ(best.search.feasible.front().estimate.outcome.total, *least) << number;
    EXPECT_EQ(best.question.options, first) << number;
  }
}

// Each choice of options has an equal part of the work, and the best of them another.
TEST(Settled, GoesOnFromOneChoiceToTheNext) {
  Question question = question_on("fat-tree-2", 8);
  std::vector<double> alone, all;
  const Platform platform = read_platform(question.platform);
  settled(question, platform, [&](const std::string&, double part) { alone.push_back(part); });
  question.variants = {with_zero(0), with_zero(0), with_zero(0), with_zero(0)};

  settled(question, platform, [&](const std::string&, double part) { all.push_back(part); });

  ASSERT_FALSE(alone.empty());
  ASSERT_EQ(all.size(), 5 * alone.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto choice = static_cast<double>(i / alone.size());
    EXPECT_DOUBLE_EQ(all[i], (choice + alone[i % alone.size()]) / 5.0);
  }
}

TEST(Settled, OfOneThatFitsIsThatOne) {
  Question question = question_on("fat-tree-2", 8);
  question.grid = ProcessGrid(1, 1, 1, 2, 4);
  question.model.layers = 8;
  question.micro_batches = 6;
  question.global_batch = 24;
  StepOptions interleaved;
  interleaved.order = PipelineOrder::interleaved;
  interleaved.chunks = 2;
  question.variants = {interleaved, {}};
  const Platform platform = read_platform(question.platform);

  EXPECT_EQ(settled(question, platform, ignore).question.options, StepOptions{});

  StepOptions deep = interleaved;
  deep.chunks = 9;
  question.variants = {interleaved, deep};
  const auto why = [&] {
    return refusal<FindingFailed>([&] { settled(question, platform, ignore); });
  };
  EXPECT_THAT(why(), HasSubstr("multiple of 4"));
  question.variants = {deep, interleaved};
  EXPECT_THAT(why(), Not(AnyOf("accepted", HasSubstr("multiple of 4"))));
}

}  // namespace
}  // namespace fourfold::tests
