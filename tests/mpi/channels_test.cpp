// Channels of many grids side by side: members and order of lines, several collectives under way on
// several channels, and the same bits in every way to progress.
#include "engine/mpi/channels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "engine/mpi/handles.hpp"
#include "tests/mpi/reference_line.hpp"

namespace fourfold::tests {
namespace {

// All grids of as many ranks as there are.
std::vector<ProcessGrid> grids() {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  std::vector<ProcessGrid> found;
  for (std::int64_t x = 1; x <= ranks; ++x) {
    for (std::int64_t y = 1; x * y <= ranks; ++y) {
      for (std::int64_t z = 1; x * y * z <= ranks; ++z) {
        if (ranks % (x * y * z) == 0) found.emplace_back(x, y, z, ranks / (x * y * z));
      }
    }
  }
  return found;
}

TEST(Channels, FollowTheLinesOfTheGrid) {
  const std::int64_t rank = rank_in(MPI_COMM_WORLD);
  for (const ProcessGrid& grid : grids()) {
    Channels channels(grid, made_up_channels(), TransportKind::ring, ProgressMode::none,
                      host_memory());
    for (const Channel& channel : made_up_channels()) {
      const std::vector<std::int64_t> line = grid.line(rank, channel.axis);
      const auto members = static_cast<std::int64_t>(line.size());
      ASSERT_EQ(channels[channel].size(), members) << grid.str();
      ASSERT_EQ(line[static_cast<std::size_t>(channels[channel].position())], rank) << grid.str();
      Buffer own(1, Precision::fp32);
      Buffer all(members, Precision::fp32);
      own.set(0, static_cast<float>(rank));

      channels[channel].finish(channels[channel].start(
          {CollectiveKind::all_gather, Owed::sum, own.tensor(), all.tensor()}));

      for (std::int64_t i = 0; i < members; ++i) {
        EXPECT_EQ(all.tensor().fp32()[i], static_cast<float>(line[static_cast<std::size_t>(i)]))
            << grid.str() << " channel " << name(channel);
      }
    }
  }
}

TEST(Channels, WithOneMemberCopyOrLeaveTheMemoryAlone) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  for (TransportKind transport : all_transports) {
    Channels channels(ProcessGrid(ranks, 1, 1, 1), made_up_channels(), transport,
                      ProgressMode::none, host_memory());
    Communicator& y = channels[{Axis::y, ""}];
    for (CollectiveKind kind : reducing_kinds) {
      Trial trial(kind, Owed::sum, Precision::bf16, 13, 1, 0);
      const Post post = y.start(trial.call);
      EXPECT_TRUE(trial.equal());
      EXPECT_FALSE(y.progress());
      y.finish(post);
    }
  }
}

// A random script that is the same on all ranks: starts on random channels, and waits in any order.
struct Script {
  std::vector<std::unique_ptr<Trial>> trials;
  std::vector<std::pair<Channel, Post>> posts;
};

void play(Channels& channels, Owed owed, std::uint32_t seed, Script& script) {
  std::mt19937 random(seed);
  std::vector<std::size_t> open;
  for (int turn = 0; turn < 30; ++turn) {
    const Channel channel = made_up_channels()[random() % made_up_channels().size()];
    const auto kind = static_cast<CollectiveKind>(random() % 3);
    const Precision precision = random() % 2 == 0 ? Precision::fp32 : Precision::bf16;
    const std::int64_t elements = turn % 10 == 5 ? 70000 + random() % 60000 : random() % 3000;
    Communicator& communicator = channels[channel];
    script.trials.push_back(std::make_unique<Trial>(kind, owed, precision, elements,
                                                    communicator.size(), communicator.position()));
    script.posts.emplace_back(channel, communicator.start(script.trials.back()->call));
    open.push_back(script.posts.size() - 1);
    channels.between_tiles();
    if (open.size() < 8) continue;
    const std::size_t chosen = random() % open.size();
    const auto [waited, post] = script.posts[open[chosen]];
    channels[waited].finish(post);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  for (std::size_t i : open) channels[script.posts[i].first].finish(script.posts[i].second);
}

class ManyAtOnce : public testing::TestWithParam<std::tuple<TransportKind, ProgressMode>> {};

TEST_P(ManyAtOnce, GiveTheBitsOfTheDocumentedOrder) {
  const auto [transport, mode] = GetParam();
  std::uint32_t seed = 17;
  std::vector<ProcessGrid> chosen = grids();
  std::shuffle(chosen.begin(), chosen.end(), std::mt19937(seed));
  if (chosen.size() > 5) chosen.resize(5);
  for (const ProcessGrid& grid : chosen) {
    Channels channels(grid, made_up_channels(), transport, mode, host_memory());
    // The library adds in an order of its own, but a maximum is a maximum.
    const Owed owed = transport == TransportKind::library ? Owed::max : Owed::sum;
    Script script;

    play(channels, owed, ++seed, script);

    std::map<std::string, Post> last;
    for (std::size_t i = 0; i < script.trials.size(); ++i) {
      const auto& [channel, post] = script.posts[i];
      EXPECT_EQ(post, ++last[name(channel)]) << "numbered in order of start";
      EXPECT_TRUE(script.trials[i]->equal())
          << grid.str() << " channel " << name(channel) << " collective " << post;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ours, ManyAtOnce,
                         testing::Combine(testing::Values(TransportKind::ring,
                                                          TransportKind::library,
                                                          TransportKind::window),
                                          testing::Values(ProgressMode::none, ProgressMode::tiles,
                                                          ProgressMode::thread)),
                         [](const auto& info) {
                           return std::string(name(std::get<0>(info.param))) + "_" +
                                  name(std::get<1>(info.param));
                         });

// What was started later on the same channel is never finished earlier.
TEST(Channels, FinishInTheOrderOfTheirStart) {
  for (TransportKind transport : all_transports) {
    auto [channels, channel, ranks] = OneLine(transport);
    Trial large(CollectiveKind::all_reduce, Owed::max, Precision::fp32, 150000, ranks,
                channel.position());
    Trial small(CollectiveKind::all_reduce, Owed::max, Precision::fp32, 1, ranks,
                channel.position());
    channel.start(large.call);
    const Post second = channel.start(small.call);

    channel.finish(second);

    EXPECT_TRUE(large.equal()) << name(transport);
    EXPECT_TRUE(small.equal()) << name(transport);
    EXPECT_FALSE(channel.progress());
  }
}

// Communicators are what the list says: a purpose is any word, an axis may have several.
TEST(Channels, AreThoseOfTheList) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  const std::vector<Channel> list{{Axis::y, "first"}, {Axis::y, "second"}};

  Channels channels(ProcessGrid(1, ranks, 1, 1), list, TransportKind::ring, ProgressMode::none,
                    host_memory());

  EXPECT_NE(&channels[list[0]], &channels[list[1]]);
  EXPECT_EQ(channels[list[1]].size(), ranks);
  EXPECT_EQ(channels.communicators({list[1]}), std::vector<Communicator*>{&channels[list[1]]});
  EXPECT_THROW((channels[{Axis::y, ""}]), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
