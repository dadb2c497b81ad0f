// The executor on ranks that are threads of this process: steps drawn over all options train the
// referee's bits, on ordinary memory and on a device's, whoever writes where he may;
// long because its ranks stand in for MPI.
#include "engine/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "schedule/order/step.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/kernels/executing_ranks.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t optimizer_steps = 2;

AdamW optimizer() {
  AdamW optimizer;
  optimizer.learning_rate = 1e-2;
  optimizer.beta1 = 0.8;
  optimizer.clip_norm = 0.1;  // below the norms of these tests
  return optimizer;
}

// The same on every rank; a third of some batches' targets does not count.
Batch batch_of(const DrawnStep& step, std::int64_t number, bool leaves_out) {
  Batch batch = random_batch(step.model, step.batch, static_cast<std::uint64_t>(number));
  for (std::size_t i = 0; leaves_out && i < batch.targets.size(); ++i) {
    if ((i * i + i / 7) % 3 == 0) batch.targets[i] = ignored_target;
  }
  return batch;
}

LocalBatch local(const Batch& batch, const DrawnStep& step, std::int64_t rank, bool leaves_out) {
  LocalBatch own = local_batch(batch, step.grid, rank, step.micro_batch_tokens());
  if (leaves_out) own.counted_targets = counted_targets(batch.targets);
  return own;
}

std::unique_ptr<OneRank> rank_of(const DrawnStep& step, std::int64_t rank, Where where,
                                 Meetings& meetings) {
  return std::make_unique<OneRank>(
      step.model,
      issue(record_step(step.model, step.options, stage_of(step.grid, rank)), step.options),
      step.grid, step.batch, rank, where, meetings);
}

std::vector<std::unique_ptr<OneRank>> trained(const DrawnStep& step, Where where, bool leaves_out) {
  Meetings meetings(step.grid);
  std::vector<std::unique_ptr<OneRank>> ranks;
  for (std::int64_t rank = 0; rank < step.grid.size(); ++rank) {
    ranks.push_back(rank_of(step, rank, where, meetings));
  }
  work_on_all(ranks, meetings, [&](OneRank& own) {
    for (std::int64_t number = 1; number <= optimizer_steps; ++number) {
      const Batch batch = batch_of(step, number, leaves_out);
      const LocalBatch own_part = local(batch, step, own.rank, leaves_out);
      const auto began = std::chrono::steady_clock::now();
      own.steps.push_back(own.executor.step(own_part, optimizer(), number));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      EXPECT_LE(own.steps.back().seconds, took.count());
    }
  });
  return ranks;
}

// Every operation of the stream that does something has one span, in the stream's order, within the
// step; what is waited for on a channel is what its collectives waited.
void expect_whole_account(const ExecutedStep& step, const Program& program) {
  std::vector<double> waited(program.channels.size(), 0.0);
  std::vector<int> spans(program.ops.size(), 0);
  for (const OpSpan& span : step.spans) {
    const Op& op = program.ops[static_cast<std::size_t>(span.op)];
    ++spans[static_cast<std::size_t>(span.op)];
    EXPECT_LE(span.start, span.end);
    EXPECT_LE(span.end, step.seconds);
    EXPECT_LE(span.waited, span.end - span.start + 1e-12);
    if (op.channel >= 0) {
      waited[static_cast<std::size_t>(op.channel)] += span.waited;
    }
  }
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const OpKind kind = program.ops[i].kind;
    EXPECT_LE(spans[i], 1) << i;
    if (kind == OpKind::gemm || kind == OpKind::update || kind == OpKind::apply) {
      EXPECT_EQ(spans[i], 1) << i;
    }
  }
  if (program.order.ready.limit > 0) return;  // its choices wait for messages, too
  for (std::size_t i = 0; i < waited.size(); ++i) {
    EXPECT_NEAR(step.exposed_seconds[i], waited[i], 1e-9);
  }
}

void expect_referees_bits(const DrawnStep& step, Where where, bool leaves_out) {
  SCOPED_TRACE(words_of(step) + (where == Where::host ? "" : ", apart") +
               (leaves_out ? ", some targets left out" : ""));
  Lockstep<float> referee(step.model, step.options, step.grid, executed_seed, Rounding::recorded);
  std::vector<StepResult> expected;
  for (std::int64_t number = 1; number <= optimizer_steps; ++number) {
    expected.push_back(referee.step(batch_of(step, number, leaves_out), optimizer()));
  }

  const std::vector<std::unique_ptr<OneRank>> ranks = trained(step, where, leaves_out);

  for (const auto& own : ranks) {
    ASSERT_EQ(own->failure, "") << "rank " << own->rank;
    ASSERT_EQ(own->steps.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool last = own->schedule.program.stage.last();
      EXPECT_EQ(own->steps[i].loss, last ? expected[i].loss : 0.0) << "rank " << own->rank;
      EXPECT_EQ(own->steps[i].gradient_norm, expected[i].gradient_norm) << "rank " << own->rank;
      expect_whole_account(own->steps[i], own->schedule.program);
    }
    EXPECT_EQ(own->differing(referee), 0) << "rank " << own->rank;
    EXPECT_EQ(own->disturbed(), 0) << "rank " << own->rank;
  }
}

class Orders : public ::testing::TestWithParam<std::int64_t> {};

// Orders of pipelines come in turn. Ranks that look again and again whether a message has come are
// few.
TEST_P(Orders, TrainTheRefereesBitsUnderDrawnOptions) {
  constexpr std::int64_t orders = 5;
  const std::int64_t devices = GetParam() + 1 == orders ? 4 : most_trained_devices;
  int tried = 0;
  for (std::int64_t number = GetParam(); tried < 3; number += orders) {
    const DrawnStep step = drawn_step(number, devices, trained_model);
    if (step.batch > most_trained_sequences) continue;
    ++tried;
    expect_referees_bits(step, number % 3 == 2 ? Where::apart : Where::host, number % 4 == 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Orders, ::testing::Range<std::int64_t>(0, 5), [](const auto& info) {
  std::string order =
      name(drawn_step(info.param, most_trained_devices, trained_model).options.order);
  std::ranges::replace(order, '-', '_');
  return order;
});

DrawnStep plain_step(const ProcessGrid& grid, std::int64_t batch) {
  return {trained_model, grid, batch, {}};
}

// A mean over nothing is nothing, and moves nothing but what decays.
TEST(Executor, OfTargetsThatAreAllLeftOutHasNoLoss) {
  const DrawnStep step = plain_step({1, 1, 1, 1}, 2);
  Meetings meetings(step.grid);
  const std::unique_ptr<OneRank> rank = rank_of(step, 0, Where::host, meetings);
  Batch batch = random_batch(trained_model, step.batch, 1);
  std::ranges::fill(batch.targets, ignored_target);

  const ExecutedStep done = rank->executor.step(local(batch, step, 0, true), optimizer(), 1);

  EXPECT_EQ(done.loss, 0.0);
  EXPECT_EQ(done.gradient_norm, 0.0);
  for (const Stored& stored : rank->weights.all()) {
    for (float number : numbers_of(*stored.memory, stored.block)) {
      ASSERT_TRUE(std::isfinite(number)) << stored.name;
    }
  }
}

// What does not fit is refused before anything is done with it.
TEST(Executor, RefusesWordsThatAreNotItsShare) {
  const DrawnStep step = plain_step({1, 1, 2, 1}, 4);
  Meetings meetings(step.grid);
  const std::unique_ptr<OneRank> rank = rank_of(step, 1, Where::host, meetings);
  const std::unique_ptr<OneRank> other = rank_of(step, 0, Where::host, meetings);
  const Batch batch = random_batch(trained_model, step.batch, 1);
  const LocalBatch right = local(batch, step, 1, false);
  const auto said = [&](const std::function<void(LocalBatch&)>& change) {
    LocalBatch changed = right;
    change(changed);
    return refusal([&] { rank->executor.step(changed, optimizer(), 1); });
  };

  const std::string share =
      "executor: this rank's share of a step of 4 sequences is 8 tokens and as many targets, not ";
  EXPECT_EQ(said([](LocalBatch& b) { b.tokens.pop_back(); }), share + "7 of 4");
  EXPECT_EQ(said([](LocalBatch& b) { b.targets.push_back(0); }), share + "9 of 4");
  EXPECT_EQ(said([](LocalBatch& b) { b.sequences = 2; }), share + "8 of 2");
  for (const std::int64_t length :
       {std::int64_t{-1}, std::int64_t{0}, trained_model.sequence + 1}) {
    EXPECT_EQ(said([length](LocalBatch& b) { b.length = length; }),
              "a batch has " + std::to_string(length) +
                  " tokens of each sequence; it must be 1 to " +
                  std::to_string(trained_model.sequence));
  }
  for (const std::int32_t word : {-1, -2, 29, 1000}) {
    EXPECT_EQ(said([word](LocalBatch& b) { b.tokens.back() = word; }),
              "token " + std::to_string(word) + " is outside the vocabulary of 29 words");
    if (word == ignored_target) continue;
    EXPECT_EQ(said([word](LocalBatch& b) { b.targets.front() = word; }),
              "token " + std::to_string(word) + " is outside the vocabulary of 29 words");
  }
}

TEST(Executor, RefusesMeansThatDoNotFitTheStep) {
  const DrawnStep step = plain_step({2, 1, 1, 1, 2}, 4);
  Meetings meetings(step.grid);
  const std::unique_ptr<OneRank> rank = rank_of(step, 0, Where::host, meetings);
  const auto executor_of = [&](const Schedule& schedule, std::int64_t batch,
                               const std::vector<Communicator*>& communicators) {
    return refusal([&] {
      Executor(trained_model, schedule, batch, {rank->weights, rank->backend, communicators, {}});
    });
  };
  const std::vector<Communicator*> right = rank->pointers();
  ASSERT_EQ(executor_of(rank->schedule, 4, right), "accepted");

  EXPECT_EQ(executor_of(issue(record_step(trained_model, {}, Stage{1, 2}), {}), 4, right),
            "executor: the schedule is that of another stage of grid x=2,pipe=2");
  EXPECT_EQ(executor_of(issue(record_step(trained_model, {}), {}), 4, right),
            "executor: the schedule is that of another stage of grid x=2,pipe=2");
  EXPECT_EQ(executor_of(rank->schedule, 0, right),
            "a batch of 0 sequences does not divide among 1 micro-batches on grid x=2,pipe=2; it "
            "must be a multiple of micro-batches x z x data = 1");
  // Each channel in turn without its communicator, with none at all, and with one of another size.
  Meetings larger({4, 1, 1, 1, 4});
  const auto of_larger = larger.of_rank(0, rank->schedule.program.channels, rank->backend.memory());
  int needed = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const Channel& channel = rank->schedule.program.channels[i];
    const std::int64_t members_needed = members(channel, step.grid);
    std::vector<Communicator*> fewer(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<Communicator*> missing = right, other = right;
    missing[i] = nullptr;
    other[i] = of_larger[i].get();
    const std::string expected =
        "executor: channel " + name(channel) + " needs 2 members on grid x=2,pipe=2";
    if (members_needed == 1) {
      EXPECT_EQ(executor_of(rank->schedule, 4, missing), "accepted") << name(channel);
      continue;
    }
    ++needed;
    EXPECT_EQ(executor_of(rank->schedule, 4, fewer), expected);
    EXPECT_EQ(executor_of(rank->schedule, 4, missing), expected);
    if (other[i]->size() != members_needed) {
      EXPECT_EQ(executor_of(rank->schedule, 4, other), expected);
    }
  }
  EXPECT_GE(needed, 2);
}

TEST(Executor, RefusesWeightsOfAnotherProgramOrDevice) {
  const DrawnStep step = plain_step({1, 1, 1, 1}, 2);
  Meetings meetings(step.grid);
  const std::unique_ptr<OneRank> rank = rank_of(step, 0, Where::host, meetings);
  HostMemory elsewhere;
  Weights beside(rank->schedule.program, step.grid, 0, elsewhere);
  const auto with = [&](Weights& weights) {
    return refusal([&] {
      Executor(trained_model, rank->schedule, 2, {weights, rank->backend, rank->pointers(), {}});
    });
  };

  EXPECT_EQ(with(beside),
            "executor: weights are in the memory of another device than the backend's");
  StepOptions fp32;
  fp32.precision = Precision::fp32;
  Model wordier = trained_model, wider = trained_model;
  wordier.vocabulary += 1;
  wider.mlp_width = 97;
  for (const Program& program :
       {record_step(trained_model, fp32), record_step(wordier, {}), record_step(wider, {})}) {
    Weights other(program, step.grid, 0, rank->backend.memory());
    EXPECT_THAT(with(other), ::testing::HasSubstr(
                                 "does not fit the schedule; weights and schedule must be of one "
                                 "model, grid and precision"));
  }
}

}  // namespace
}  // namespace fourfold::tests
