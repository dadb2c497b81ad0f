// Transport auto: whatever is chosen gives the ring's bits, what an earlier run chose is taken, and
// only what is right is a candidate.
#include <gtest/gtest.h>

#include "engine/mpi/channels.hpp"
#include "engine/mpi/handles.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold {
namespace {

const Channel line{Axis::x, ""};

Trial trial_of(CollectiveKind kind, Owed owed, std::int64_t elements, Communicator& channel) {
  return Trial(kind, owed, Precision::fp32, elements, channel.size(), channel.position());
}

TEST(ChosenTransport, GivesTheRingsBitsWhateverIsFastest) {
  for (const ProgressMode mode : {ProgressMode::none, ProgressMode::thread}) {
    Channels channels(ProcessGrid(size_of(MPI_COMM_WORLD), 1, 1, 1), all_channels(),
                      Transport::automatic, mode, host_memory());
    Communicator& channel = channels[line];
    for (const std::int64_t elements : {1, 7, 1009, 65537}) {
      for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                        CollectiveKind::all_reduce}) {
        for (const Precision precision : {Precision::fp32, Precision::bf16}) {
          Trial trial(kind, Owed::sum, precision, elements, channel.size(), channel.position());
          channel.prepare({trial.call});

          channel.finish(channel.start(trial.call));

          EXPECT_TRUE(trial.equal()) << name(kind) << " " << name(precision) << " " << elements;
        }
      }
    }
  }
}

TEST(ChosenTransport, CandidatesAreThoseThatAreRight) {
  Channels channels(ProcessGrid(size_of(MPI_COMM_WORLD), 1, 1, 1), all_channels(),
                    Transport::automatic, ProgressMode::none, host_memory());
  Communicator& channel = channels[line];
  if (channel.size() == 1) GTEST_SKIP() << "one member chooses nothing";
  const auto candidates = [&](CollectiveKind kind, Owed owed) {
    Trial trial = trial_of(kind, owed, 1009, channel);
    channel.prepare({trial.call});
    std::vector<Transport> result;
    const TransportChoice choice = channels.choices().back();
    for (const TransportTiming& timing : choice.timings) {
      result.push_back(timing.transport);
    }
    return result;
  };
  const std::vector<Transport> all{Transport::ring, Transport::window, Transport::library};
  const std::vector<Transport> ours{Transport::ring, Transport::window};

  EXPECT_EQ(candidates(CollectiveKind::all_gather, Owed::sum), all);
  EXPECT_EQ(candidates(CollectiveKind::all_reduce, Owed::max), all);
  EXPECT_EQ(candidates(CollectiveKind::all_reduce, Owed::sum), channel.size() == 2 ? all : ours);
  EXPECT_EQ(candidates(CollectiveKind::reduce_scatter, Owed::sum),
            channel.size() == 2 ? all : ours);
}

// A gather is known by what it brings together, and what is reduced by what each member gives.
TEST(ChosenTransport, IsOfTheWholeResultOfAGather) {
  Channels channels(ProcessGrid(size_of(MPI_COMM_WORLD), 1, 1, 1), all_channels(),
                    Transport::automatic, ProgressMode::none, host_memory());
  Communicator& channel = channels[line];
  for (const CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    Trial trial = trial_of(kind, Owed::sum, 1009, channel);

    const ChosenCollective collective = class_of(trial.call, channel.size());

    EXPECT_EQ(collective.elements, static_cast<std::int64_t>(
                                       std::max(trial.call.send.size(), trial.call.receive.size())))
        << name(kind);
    EXPECT_EQ(collective.bytes(), 4 * collective.elements);
    EXPECT_EQ(collective.kind, kind);
    EXPECT_EQ(collective.members, channel.size());
  }
}

TEST(ChosenTransport, TakesTheFastestAndTimesACollectiveOnce) {
  Channels channels(ProcessGrid(size_of(MPI_COMM_WORLD), 1, 1, 1), all_channels(),
                    Transport::automatic, ProgressMode::none, host_memory());
  Communicator& channel = channels[line];
  if (channel.size() == 1) GTEST_SKIP() << "one member chooses nothing";
  Trial trial = trial_of(CollectiveKind::all_gather, Owed::sum, 4096, channel);

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

TEST(ChosenTransport, WhatAnEarlierRunChoseIsTakenWithoutTiming) {
  for (const Transport earlier : {Transport::ring, Transport::window, Transport::library}) {
    Channels channels(ProcessGrid(size_of(MPI_COMM_WORLD), 1, 1, 1), all_channels(),
                      Transport::automatic, ProgressMode::none, host_memory());
    Communicator& channel = channels[line];
    if (channel.size() == 1) GTEST_SKIP() << "one member chooses nothing";
    Trial trial = trial_of(CollectiveKind::all_gather, Owed::sum, 4096, channel);
    const ChosenCollective collective = class_of(trial.call, channel.size());
    ChosenCollective larger = collective;
    larger.elements *= 2;
    const Transport other = earlier == Transport::window ? Transport::library : Transport::window;
    channels.remember({{"another", collective, other, {}},
                       {name(line), larger, other, {}},
                       {name(line), collective, earlier, {}}});

    channel.prepare({trial.call});
    channel.finish(channel.start(trial.call));

    EXPECT_EQ(channels.choices().front().transport, earlier);
    EXPECT_TRUE(channels.choices().front().timings.empty());
    EXPECT_TRUE(trial.equal()) << name(earlier);
  }
}

// A sum of the library's among many has another order: a choice that says so is not believed.
TEST(ChosenTransport, WhatWouldChangeNumbersIsNotTakenFromAnEarlierRun) {
  Channels channels(ProcessGrid(size_of(MPI_COMM_WORLD), 1, 1, 1), all_channels(),
                    Transport::automatic, ProgressMode::none, host_memory());
  Communicator& channel = channels[line];
  if (channel.size() <= 2) GTEST_SKIP() << "two members add in one order";
  Trial trial = trial_of(CollectiveKind::all_reduce, Owed::sum, 4096, channel);
  channels.remember({{name(line), class_of(trial.call, channel.size()), Transport::library, {}}});

  channel.prepare({trial.call});

  EXPECT_NE(channels.choices().front().transport, Transport::library);
}

TEST(ChosenTransport, WhatWasNotPreparedGoesByTheRing) {
  Channels channels(ProcessGrid(size_of(MPI_COMM_WORLD), 1, 1, 1), all_channels(),
                    Transport::automatic, ProgressMode::none, host_memory());
  Communicator& channel = channels[line];
  Trial trial = trial_of(CollectiveKind::all_reduce, Owed::sum, 1009, channel);

  channel.finish(channel.start(trial.call));

  EXPECT_TRUE(trial.equal());
  EXPECT_TRUE(channels.choices().empty());
}

}  // namespace
}  // namespace fourfold
