// All-to-alls, broadcasts and exchanges with neighbours by every transport, in fp32, bf16 and
// whole numbers, of few and of more than a message or a window holds: each member holds the bits
// that the others sent, and what nobody sent stays.
#include <gtest/gtest.h>

#include "tests/mpi/reference_line.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

const Channel line{Axis::x, ""};

// Members' parts for each other, of unequal sizes and some empty: i sends (5 i + 3 j) mod 4
// sevenths of a piece to j.
std::int64_t part(std::int64_t piece, std::int64_t from, std::int64_t to) {
  return piece * ((5 * from + 3 * to) % 4) / 7;
}

struct Moved {
  CollectiveCall call;
  Buffer send, receive, expected;

  Moved(CollectiveKind kind, Precision precision, std::int64_t piece, std::int64_t members,
        std::int64_t position)
      : send(elements(kind, piece, members), precision),
        receive(kind == CollectiveKind::neighbour_exchange ? 2 * piece : send.size(), precision),
        expected(receive.size(), precision) {
    call = {kind, Owed::sum, send.tensor(), receive.tensor()};
    for (std::int64_t i = 0; i < send.size(); ++i) {
      send.set(i, contribution(position, i, precision));
    }
    const auto put = [&](std::int64_t at, std::int64_t from, std::int64_t first,
                         std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        expected.set(at + i, contribution(from, first + i, precision));
      }
    };
    if (kind == CollectiveKind::all_to_all) {
      for (std::int64_t from = 0; from < members; ++from) {
        put(from * piece, from, position * piece, piece);
      }
    } else if (kind == CollectiveKind::broadcast) {
      put(0, 0, 0, expected.size());
    } else if (kind == CollectiveKind::all_to_all_v) {
      std::int64_t at = 0;
      for (std::int64_t other = 0; other < members; ++other) {
        call.to.push_back(part(piece, position, other));
        call.from.push_back(part(piece, other, position));
        std::int64_t first = 0;
        for (std::int64_t to = 0; to < position; ++to) first += part(piece, other, to);
        put(at, other, first, call.from.back());
        at += call.from.back();
      }
    } else {
      if (position > 0) put(0, position - 1, send.size() - piece, piece);
      if (position + 1 < members) put(piece, position + 1, 0, piece);
    }
  }
  Moved(Moved&&) = default;

  // Of neighbours what lies between the edges stays.
  static std::int64_t elements(CollectiveKind kind, std::int64_t piece, std::int64_t members) {
    return kind == CollectiveKind::neighbour_exchange ? 2 * piece + 3 : piece * members;
  }
  bool equal() const { return receive.bytes == expected.bytes; }
};

std::vector<CollectiveKind> moving() {
  std::vector<CollectiveKind> kinds;
  for (const KindRow& row : collective_rows) {
    if (row.motion != Motion::around && row.motion != Motion::one_way) kinds.push_back(row.kind);
  }
  return kinds;
}

// More than 1 MiB are several messages of a broadcast, and several blocks of a window.
constexpr std::array<std::int64_t, 5> pieces{0, 1, 7, 1009, 300007};

class EveryExchange : public testing::TestWithParam<TransportKind> {};

TEST_P(EveryExchange, BringsWhatTheOthersSent) {
  auto [channels, channel, ranks] = OneLine(GetParam());
  for (CollectiveKind kind : moving()) {
    for (Precision precision : {Precision::fp32, Precision::bf16, Precision::int32}) {
      for (std::int64_t piece : pieces) {
        Moved trial(kind, precision, piece, ranks, channel.position());
        const std::vector<std::byte> before = trial.send.bytes;
        channel.prepare({trial.call});

        channel.finish(channel.start(trial.call));

        EXPECT_TRUE(trial.equal()) << name(kind) << " " << name(precision) << " of " << piece;
        EXPECT_EQ(trial.send.bytes, before) << name(kind);
      }
    }
  }
}

// Several under way at once, kinds by turns: each ends as it would alone.
TEST_P(EveryExchange, FollowOneAnother) {
  auto [channels, channel, ranks] = OneLine(GetParam());
  std::vector<Moved> trials;
  trials.reserve(12);
  std::vector<Trial> sums;
  sums.reserve(12);
  Post last = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (CollectiveKind kind : moving()) {
      trials.emplace_back(kind, Precision::fp32, 100003, ranks, channel.position());
      channel.start(trials.back().call);
    }
    sums.emplace_back(CollectiveKind::all_gather, Owed::sum, Precision::fp32, 1009, ranks,
                      channel.position());
    last = channel.start(sums.back().call);
  }
  channel.finish(last);

  for (const Moved& trial : trials) EXPECT_TRUE(trial.equal()) << name(trial.call.kind);
  for (const Trial& sum : sums) EXPECT_TRUE(sum.equal());
}

INSTANTIATE_TEST_SUITE_P(By, EveryExchange,
                         testing::Values(TransportKind::ring, TransportKind::library,
                                         TransportKind::window, TransportKind::automatic),
                         [](const auto& info) { return std::string(name(info.param)); });

// Every transport is right, and so a candidate.
TEST(ChosenExchange, HasAllCandidates) {
  auto [channels, channel, ranks] = OneLine(TransportKind::automatic);
  if (ranks == 1) GTEST_SKIP() << "one member chooses nothing";
  for (CollectiveKind kind : moving()) {
    Moved trial(kind, Precision::fp32, 1009, ranks, channel.position());
    channel.prepare({trial.call});

    EXPECT_EQ(channels.choices().back().collective.kind, kind);
    EXPECT_EQ(channels.choices().back().timings.size(), 3U) << name(kind);
  }
}

TEST(ExchangeOperands, AreRefusedWhereTheyDoNotFit) {
  auto [channels, channel, ranks] = OneLine(TransportKind::ring);
  if (ranks == 1) GTEST_SKIP() << "one member has one part";
  const auto refused = [&](CollectiveCall call, std::int64_t send, std::int64_t receive) {
    Buffer from(send, Precision::fp32), to(receive, Precision::fp32);
    call.send = from.tensor();
    call.receive = to.tensor();
    return refusal([&] { channel.start(call); });
  };
  const std::int64_t odd = ranks + 1;
  EXPECT_EQ(refused({CollectiveKind::all_to_all, Owed::sum, {}, {}}, odd, odd),
            "all-to-all of " + std::to_string(odd) + " elements: they must be equal parts for " +
                std::to_string(ranks) + " members");
  EXPECT_EQ(refused({CollectiveKind::all_to_all_v, Owed::sum, {}, {}, {1}, {1}}, 9, 9),
            "all-to-all-v over " + std::to_string(ranks) +
                " members has a list of 1 parts; it must have one for each member");
  const std::vector<std::int64_t> large(static_cast<std::size_t>(ranks), 5);
  EXPECT_EQ(refused({CollectiveKind::all_to_all_v, Owed::sum, {}, {}, large, large}, 9, 9),
            "all-to-all-v of " + std::to_string(5 * ranks) +
                " elements: parts must not be negative, nor more than the room of 9");
  EXPECT_EQ(refused({CollectiveKind::neighbour_exchange, Owed::sum, {}, {}}, 4, 7),
            "neighbour-exchange of 4 elements into 7: what is received has two edges, which must "
            "not be longer than what is sent");
  EXPECT_EQ(refused({CollectiveKind::broadcast, Owed::sum, {}, {}, large, {}}, 4, 4),
            "broadcast has no list of parts: only an all-to-all-v has");
}

}  // namespace
}  // namespace fourfold::tests
