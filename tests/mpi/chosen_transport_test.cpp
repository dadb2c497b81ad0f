// Transport auto: whatever is chosen gives the ring's bits, what an earlier run chose is taken, and
// only what is right is a candidate.
#include <gtest/gtest.h>

#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

const Channel line{Axis::x, ""};

// What this process has of MPI at the moment.
int held_windows = 0, held_operations = 0;

// One member chooses nothing.
class ChosenTransport : public testing::Test {
 protected:
  void SetUp() override {
    if (channel.size() == 1) GTEST_SKIP();
  }
  Trial trial_of(CollectiveKind kind, Owed owed, std::int64_t elements) const {
    return Trial(kind, owed, Precision::fp32, elements, channel.size(), channel.position());
  }

  OneLine whole{TransportKind::automatic};
  Channels& channels = whole.channels;
  Communicator& channel = whole.channel;
};

TEST_F(ChosenTransport, GivesTheRingsBitsWhateverIsFastest) {
  for (const ProgressMode mode : {ProgressMode::none, ProgressMode::thread}) {
    OneLine own(TransportKind::automatic, mode);
    for (const std::int64_t elements : {1, 7, 1009, 65537}) {
      for (const CollectiveKind kind : reducing_kinds) {
        for (const Precision precision : {Precision::fp32, Precision::bf16}) {
          Trial trial(kind, Owed::sum, precision, elements, channel.size(), channel.position());
          own.channel.prepare({trial.call});

          own.channel.finish(own.channel.start(trial.call));

          EXPECT_TRUE(trial.equal()) << name(kind) << " " << name(precision) << " " << elements;
        }
      }
    }
  }
}

TEST_F(ChosenTransport, CandidatesAreThoseThatAreRight) {
  const auto candidates = [&](CollectiveKind kind, Owed owed) {
    Trial trial = trial_of(kind, owed, 1009);
    channel.prepare({trial.call});
    std::vector<TransportKind> result;
    const TransportChoice choice = channels.choices().back();
    for (const TransportTiming& timing : choice.timings) {
      result.push_back(timing.transport);
    }
    return result;
  };
  const std::vector<TransportKind> all{TransportKind::ring, TransportKind::window,
                                       TransportKind::library};
  const std::vector<TransportKind> ours{TransportKind::ring, TransportKind::window};

  EXPECT_EQ(candidates(CollectiveKind::all_gather, Owed::sum), all);
  EXPECT_EQ(candidates(CollectiveKind::all_reduce, Owed::max), all);
  EXPECT_EQ(candidates(CollectiveKind::all_reduce, Owed::sum), channel.size() == 2 ? all : ours);
  EXPECT_EQ(candidates(CollectiveKind::reduce_scatter, Owed::sum),
            channel.size() == 2 ? all : ours);
}

// A gather is known by what it brings together, and what is reduced by what each member gives.
TEST_F(ChosenTransport, IsOfTheWholeResultOfAGather) {
  for (const CollectiveKind kind : reducing_kinds) {
    Trial trial = trial_of(kind, Owed::sum, 1009);

    const ChosenCollective collective = class_of(trial.call, channel.size());

    EXPECT_EQ(collective.elements, static_cast<std::int64_t>(
                                       std::max(trial.call.send.size(), trial.call.receive.size())))
        << name(kind);
    EXPECT_EQ(collective.bytes(), 4 * collective.elements);
    EXPECT_EQ(collective.kind, kind);
    EXPECT_EQ(collective.members, channel.size());
  }
}

TEST_F(ChosenTransport, TakesTheFastestAndTimesACollectiveOnce) {
  Trial trial = trial_of(CollectiveKind::all_gather, Owed::sum, 4096);

  channel.prepare({trial.call, trial.call});
  channel.prepare({trial.call});

  ASSERT_EQ(channels.choices().size(), 1U);
  const TransportChoice choice = channels.choices().front();
  EXPECT_EQ(choice.channel, name(line));
  for (const TransportTiming& timing : choice.timings) {
    const auto taken =
        std::ranges::find(choice.timings, choice.transport, &TransportTiming::transport);
    EXPECT_GT(timing.seconds, 0.0);
    EXPECT_LE(taken->seconds, timing.seconds);
  }
}

TEST_F(ChosenTransport, WhatAnEarlierRunChoseIsTakenWithoutTiming) {
  for (const TransportKind earlier :
       {TransportKind::ring, TransportKind::window, TransportKind::library}) {
    OneLine own(TransportKind::automatic);
    Trial trial = trial_of(CollectiveKind::all_gather, Owed::sum, 4096);
    const ChosenCollective collective = class_of(trial.call, channel.size());
    ChosenCollective larger = collective;
    larger.elements *= 2;
    const TransportKind other =
        earlier == TransportKind::window ? TransportKind::library : TransportKind::window;
    own.channels.remember({{"another", collective, other, {}},
                           {name(line), larger, other, {}},
                           {name(line), collective, earlier, {}}});

    own.channel.prepare({trial.call});
    own.channel.finish(own.channel.start(trial.call));

    EXPECT_EQ(own.channels.choices().front().transport, earlier);
    EXPECT_TRUE(own.channels.choices().front().timings.empty());
    EXPECT_TRUE(trial.equal()) << name(earlier);
  }
}

// A sum of the library's among many has another order: a choice that says so is not believed.
TEST_F(ChosenTransport, WhatWouldChangeNumbersIsNotTakenFromAnEarlierRun) {
  if (channel.size() <= 2) GTEST_SKIP() << "two members add in one order";
  Trial trial = trial_of(CollectiveKind::all_reduce, Owed::sum, 4096);
  channels.remember(
      {{name(line), class_of(trial.call, channel.size()), TransportKind::library, {}}});

  channel.prepare({trial.call});

  EXPECT_NE(channels.choices().front().transport, TransportKind::library);
}

// Nothing is timed for what moves nothing, and nothing is remembered for it; what was not prepared
// goes by the ring.
TEST_F(ChosenTransport, NothingIsChosenForWhatIsEmptyOrNotPrepared) {
  for (const CollectiveKind kind : reducing_kinds) {
    Trial trial = trial_of(kind, Owed::sum, 0);
    channels.remember(
        {{name(line), class_of(trial.call, channel.size()), TransportKind::ring, {}}});

    channel.prepare({trial.call});
    channel.finish(channel.start(trial.call));

    EXPECT_TRUE(trial.equal()) << name(kind);
    Trial unprepared = trial_of(kind, Owed::sum, 1009);
    channel.finish(channel.start(unprepared.call));
    EXPECT_TRUE(unprepared.equal()) << name(kind);
  }
  EXPECT_TRUE(channels.choices().empty());
}

// A class is all of kind, sum or maximum, precision and extent: each is chosen for by itself.
TEST_F(ChosenTransport, CollectivesThatDifferInOneThingAreChosenForEach) {
  std::vector<Trial> trials;
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    for (const Owed owed : {Owed::sum, Owed::max}) {
      for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        for (const std::int64_t elements : {64, 65}) {
          trials.emplace_back(kind, owed, precision, elements, channel.size(), channel.position());
        }
      }
    }
  }
  // Among them, transports that an earlier run took for the same collectives of another channel.
  std::vector<TransportChoice> earlier;
  std::vector<CollectiveCall> calls;
  for (const Trial& trial : trials) {
    calls.push_back(trial.call);
    earlier.push_back({"x_other", class_of(trial.call, channel.size()), TransportKind::window, {}});
  }
  channels.remember(earlier);

  channel.prepare(calls);

  const std::vector<TransportChoice> choices = channels.choices();
  ASSERT_EQ(choices.size(), trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(choices[i].collective, class_of(trials[i].call, channel.size()));
    EXPECT_FALSE(choices[i].timings.empty());
    // A reduce-scatter adds whatever is owed; a maximum is any transport's.
    channel.finish(channel.start(trials[i].call));
    EXPECT_TRUE(trials[i].equal()) << i;
  }
}

// Between stages too: what joins the ends is a collective, what joins neighbours are messages.
TEST(ChosenTransportOf, StagesIsForCollectivesAndNotForMessages) {
  const std::int64_t stages = size_of(MPI_COMM_WORLD);
  if (stages == 1) GTEST_SKIP() << "one stage has no other";
  const std::int64_t stage = rank_in(MPI_COMM_WORLD);
  const Channel ends{Axis::pipe, "ends", Group::ends};
  const Channel to_next = forward_from(0, stages);
  Channels channels({1, 1, 1, 1, stages}, {ends, to_next}, TransportKind::automatic,
                    ProgressMode::none, host_memory());
  if (stage < 2) {
    Buffer message(1000, Precision::fp32);
    channels[to_next].prepare(
        {{CollectiveKind::send, Owed::sum, message.tensor(), message.tensor()}});
    EXPECT_TRUE(channels.choices().empty());
  }
  if (stage != 0 && stage + 1 != stages) return;
  Trial trial(CollectiveKind::all_reduce, Owed::sum, Precision::bf16, 1009, 2,
              channels[ends].position());

  channels[ends].prepare({trial.call});
  channels[ends].finish(channels[ends].start(trial.call));

  EXPECT_TRUE(trial.equal());
  ASSERT_EQ(channels.choices().size(), 1U);
  EXPECT_EQ(channels.choices()[0].channel, "pipe_ends");
  EXPECT_EQ(channels.choices()[0].timings.size(), 3U);
}

// Whoever lost is given back, with its communicator and its windows; the ring stays.
TEST_F(ChosenTransport, GivesBackWhatNobodyTakes) {
  for (const std::int64_t elements : {1, 5000, 300'000}) {
    Trial trial = trial_of(CollectiveKind::all_gather, Owed::sum, elements);
    channel.prepare({trial.call});
    bool window = false, library = false;
    for (const TransportChoice& choice : channels.choices()) {
      window |= choice.transport == TransportKind::window;
      library |= choice.transport == TransportKind::library;
    }

    EXPECT_EQ(held_windows, window ? 1 : 0);
    EXPECT_EQ(held_operations, library ? 2 : 0);
  }
}

}  // namespace
}  // namespace fourfold::tests

extern "C" {

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
  ++fourfold::tests::held_windows;
  return PMPI_Win_allocate_shared(size, unit, info, comm, base, window);
}
int MPI_Win_free(MPI_Win* window) {
  --fourfold::tests::held_windows;
  return PMPI_Win_free(window);
}
int MPI_Op_create(MPI_User_function* function, int commute, MPI_Op* operation) {
  ++fourfold::tests::held_operations;
  return PMPI_Op_create(function, commute, operation);
}
int MPI_Op_free(MPI_Op* operation) {
  --fourfold::tests::held_operations;
  return PMPI_Op_free(operation);
}

}  // extern "C"
