// Which of the options that are left open an answer has, and how it is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling/find/candidates.hpp"
#include "scaling/find/find_answer.hpp"
#include "scaling/find/settle.hpp"
#include "scaling/records/open_options.hpp"
#include "tests/refusal.hpp"
#include "tests/scaling/small_questions.hpp"

namespace fourfold::tests {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
// where a search may find what is then refused.
TEST(Settled, HaveTheOptionsOfTheFastestPipeline) {
  for (std::int64_t number = 0; number < 6; ++number) {
    Question question =
        question_on(fixed_machines[static_cast<std::size_t>(number) % fixed_machines.size()], 4);
    question.stages = {1, 2, 4};
    const PipelineOrderRow& order =
        pipeline_orders[static_cast<std::size_t>(number) % pipeline_orders.size()];
    question.model.layers = 8;
    question.global_batch = 8;
    question.options.order = order.order;
    if (order.chunks) question.options.chunks = 2;
    const Platform platform = read_platform(question.platform);
    if (number == 5) question.most_at_once = 1;
    leave_open(question, {});
    std::optional<Seconds> least;
    StepOptions first;
    for (const StepOptions& options : question.variants) {
      Question one = question;
      one.options = options;
      const Seconds found =
          candidates(one, platform, ignore).feasible.front().estimate.outcome.total;
      if (least && found >= *least) continue;
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
