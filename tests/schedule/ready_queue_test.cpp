// Ready-queues: which turns may come, what a turn leaves behind, and that no sequence of turns
// needs more memory than the one that is counted.
#include <gtest/gtest.h>

#include <tuple>

#include "schedule/order/issue.hpp"
#include "schedule/order/ready_turns.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

StepOptions message_driven(StepOptions options, std::int64_t limit = 0) {
  options.order = PipelineOrder::message_driven;
  options.pipeline_limit = limit;
  options.overlap.messages = true;
  return options;
}

std::string sequence(const StepOptions& options, const Stage& stage) {
  std::string text;
  for (const Turn& turn : order_of(options, stage).turns) {
    if (turn.micro_batch < 0) continue;
    text += (turn.part == StepPart::forward ? " F" : " B") + std::to_string(turn.micro_batch);
  }
  return text;
}

// A sequence that may come: of the turns that are possible any.
std::vector<StepPart> possible(const ReadyQueue& queue, const Stage& stage, std::mt19937& random) {
  ReadyTurns turns(queue.limit, queue.turns / 2, stage);
  std::vector<StepPart> parts;
  while (!turns.over()) {
    StepPart part = turns.only();
    if (turns.open()) part = random() % 2 == 0 ? StepPart::forward : StepPart::backward;
    turns.take(part);
    parts.push_back(part);
  }
  return parts;
}

// "?F" where a backward might have come as well, "!F" where not: never on the last stage.
TEST(ReadyTurns, ChooseOnlyWhereBothMayCome) {
  for (const auto& [limit, stage, expected] :
       {std::tuple{2, 0, "!F?F!B?F!B!B"}, {4, 1, "!F!B!F!B!F!B"}}) {
    ReadyTurns turns(limit, 3, {stage, 2});
    std::string text;
    while (!turns.over()) {
      const StepPart part = turns.open() ? StepPart::forward : turns.only();
      text += turns.open() ? '?' : '!';
      text += part == StepPart::forward ? 'F' : 'B';
      turns.take(part);
    }

    EXPECT_EQ(text, expected);
  }
}

TEST(ReadyQueue, IsWrittenAsTheSequenceInWhichMostIsInFlight) {
  StepOptions options;
  options.micro_batches = 4;

  EXPECT_EQ(sequence(message_driven(options), {0, 3}), " F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(sequence(message_driven(options), {1, 3}), " F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(sequence(message_driven(options), {2, 3}), " F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(sequence(message_driven(options, 2), {0, 3}), " F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(sequence(message_driven(options, 9), {0, 3}), " F0 F1 F2 F3 B0 B1 B2 B3");
}

// A lone micro-batch leaves nothing to choose, whatever the limit.
TEST(ReadyQueue, HasNoMoreInFlightThanThereAreMicroBatches) {
  StepOptions options;
  options.micro_batches = 2;
  EXPECT_EQ(order_of(message_driven(options, 5), {0, 4}).ready.limit, 2);
  EXPECT_EQ(order_of(message_driven(options), {0, 4}).ready.limit, 2);

  options.micro_batches = 1;
  const Program alone = record_step(small_model(4), message_driven(options), {0, 4});
  EXPECT_EQ(std::ranges::count(alone.ops, OpKind::choose, &Op::kind), 0);
}

// The receives of a queue: as many ahead as its limit, the next one when a backward is done.
TEST(ReadyQueue, ReceivesAsManyMessagesAheadAsMayBeInFlight) {
  StepOptions options;
  options.micro_batches = 7;
  const Schedule schedule =
      issue(record_step(small_model(3), message_driven(options), Stage{1, 3}), options);
  const CutStream cut = cut_at_turns(schedule);
  const auto receives = [&](const CutStream::Stretch& stretch) {
    int count = 0;
    for (std::size_t i = stretch.first; i < stretch.last; ++i) {
      const Issue& step = schedule.stream[i];
      if (step.kind != IssueKind::start) continue;
      count += schedule.program.ops[static_cast<std::size_t>(step.id)].kind == OpKind::receive;
    }
    return count;
  };

  EXPECT_EQ(receives(cut.before), 2 * 3) << "of either direction three";
  for (const CutStream::Stretch& turn : cut.forwards) EXPECT_EQ(receives(turn), 0);
  for (std::int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(receives(cut.backwards[static_cast<std::size_t>(i)]), i + 3 < 7 ? 2 : 0);
  }
}

// What a turn starts it waits for, but for messages: any other turn may come next.
TEST(ReadyQueue, LetsNothingButMessagesCrossFromTurnToTurn) {
  std::mt19937 random(8);
  for (int round = 0; round < 20; ++round) {
    const StepOptions options = message_driven(random_options(random, 5));
    const Schedule schedule =
        issue(record_step(small_model(6), options, Stage{round % 3, 3}), options);
    const CutStream cut = cut_at_turns(schedule);
    for (const auto* turns : {&cut.forwards, &cut.backwards}) {
      for (std::size_t k = 0; k + 1 < turns->size(); ++k) {
        int under_way = 0;
        for (std::size_t i = (*turns)[k].first; i < (*turns)[k].last; ++i) {
          const Issue& step = schedule.stream[i];
          if (step.kind != IssueKind::start && step.kind != IssueKind::wait) continue;
          const Op& op = schedule.program.ops[static_cast<std::size_t>(step.id)];
          if (!is_message(op.kind)) under_way += step.kind == IssueKind::start ? 1 : -1;
        }
        EXPECT_EQ(under_way, 0) << described(options);
      }
    }
  }
}

double local_bytes(const Program& program, Id id, const ProcessGrid& grid, std::int64_t tokens) {
  return static_cast<double>(program.local_elements(id, grid, {tokens}) *
                             bytes_per_element(program[id].precision));
}

// Highest bytes of a schedule whose queue is done in this sequence.
double peak_of(const Schedule& schedule, const std::vector<StepPart>& parts,
               const ProcessGrid& grid, std::int64_t tokens) {
  const CutStream cut = cut_at_turns(schedule);
  double now = 0.0;
  double peak = 0.0;
  const auto walk = [&](const CutStream::Stretch& stretch) {
    for (std::size_t i = stretch.first; i < stretch.last; ++i) {
      const Issue& step = schedule.stream[i];
      if (step.kind != IssueKind::allocate && step.kind != IssueKind::release) continue;
      const bool is_cut = grid.extent(step.axis) > 1;
      if (step.existence == Existence::if_cut && !is_cut) continue;
      if (step.existence == Existence::if_uncut && is_cut) continue;
      const double bytes = local_bytes(schedule.program, step.id, grid, tokens);
      now += step.kind == IssueKind::allocate ? bytes : -bytes;
      peak = std::max(peak, now);
    }
  };
  walk(cut.before);
  std::size_t forwards = 0;
  std::size_t backwards = 0;
  for (const StepPart part : parts) {
    walk(part == StepPart::forward ? cut.forwards[forwards++] : cut.backwards[backwards++]);
  }
  walk(cut.behind);
  EXPECT_EQ(now, 0.0);
  return peak;
}

TEST(ReadyQueue, NeedsNoMoreMemoryInAnySequenceOfTurns) {
  const ProcessGrid grid = ProcessGrid::parse("z=2,pipe=3");
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const auto limit = static_cast<std::int64_t>(random() % 6);
    const StepOptions options = message_driven(random_options(random, 1 + round % 8), limit);
    const Stage stage{round % 3, 3};
    const Schedule schedule = issue(record_step(small_model(6), options, stage), options);
    const ReadyQueue& queue = schedule.program.order.ready;
    double persistent = 0.0;
    for (std::size_t id = 0; id < schedule.program.values.size(); ++id) {
      if (!schedule.program.values[id].persistent) continue;
      persistent += local_bytes(schedule.program, static_cast<Id>(id), grid, 48);
    }

    const double most = counted(fold_schedule(schedule), grid, 48).memory.peak.value;
    const double other = peak_of(schedule, possible(queue, stage, random), grid, 48);

    EXPECT_LE(other + persistent, most)
        << "stage " << stage.index << " limit " << queue.limit << " " << described(options);
  }
}

// The word of the one that chooses is counted: four bytes along x, y and z after each turn but the
// last, on every stage but the last.
TEST(ReadyQueue, CountsTheWordsThatMembersOfAStageAgreeBy) {
  const ProcessGrid grid = ProcessGrid::parse("x=2,z=2,pipe=3");
  StepOptions options;
  options.micro_batches = 6;
  for (std::int64_t i = 0; i < 3; ++i) {
    const Counts counts =
        counted(folded_step(small_model(3), message_driven(options), {i, 3}), grid, 48).counts;
    std::int64_t words = 0;
    for (std::size_t c = 0; c < counts.channels.size(); ++c) {
      if (counts.channels[c].purpose != "choice") continue;
      words += counts.collectives[c];
      EXPECT_EQ(counts.payload[c].value, 4.0 * static_cast<double>(counts.collectives[c]));
    }
    EXPECT_EQ(words, i == 2 ? 0 : 2 * 11);
  }
}

}  // namespace
}  // namespace fourfold::tests
