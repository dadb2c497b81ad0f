// bench/measure: who sends what to whom, and what of it is timed, between two ranks that are made
// up.
#include "bench/measure/messages.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bench/kinds/gathered.hpp"
#include "bench/kinds/traffic.hpp"
#include "bench/measure/collective.hpp"
#include "bench/measure/turns.hpp"
#include "engine/mpi/library.hpp"

namespace fourfold::tests {
namespace {

// MPI as this rank sees it when one other rank answers at once: what is said to it is counted, and
// takes as long as the test wants.
struct TwoRanks {
  int rank = 0;  // this one, of two
  int ranks = 2;
  std::vector<std::string> calls;  // "send 8 to 1"
  double call_s = 0.0;             // what a message takes
  bool garbles = false;            // the other rank's bytes arrive changed
  double others = 0.0;             // what the other rank brings to a maximum
};

TwoRanks& two_ranks() {
  static TwoRanks ranks;
  return ranks;
}

using ::testing::Contains;
using ::testing::ElementsAre;

std::string last_sent;

// Passes the time that a message takes.
void pass_time() {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
         two_ranks().call_s) {
  }
}

// What the other rank sent, which is what this rank's message was or, at first, the same letters.
void deliver(void* to, int count) {
  std::string bytes = last_sent;
  bytes.resize(static_cast<std::size_t>(count), bytes.empty() ? 'x' : bytes.back());
  if (two_ranks().garbles) bytes.back() ^= 1;
  std::memcpy(to, bytes.data(), bytes.size());
}

// As a rank of two that are as they should be.
class Messages : public ::testing::TestWithParam<int> {
 protected:
  Messages() {
    two_ranks() = {};
    two_ranks().rank = GetParam();
    last_sent.clear();
  }
  static int other() { return 1 - GetParam(); }
};

// What is timed lies within what the caller waits for, so that half of it is at most half.
TEST_P(Messages, OfAPingPongTakeHalfARoundTrip) {
  two_ranks().call_s = 0.02;
  PingPong ping(8);
  double one_way = 0.0;

  const double all = wall_seconds([&] { one_way = ping.seconds(); });

  EXPECT_LE(one_way, all / 2);
  EXPECT_GE(one_way, two_ranks().call_s);
}

TEST_P(Messages, OfAPingPongAreLookedAt) {
  PingPong ping(8);
  two_ranks().calls.clear();
  if (GetParam() == 0) {
    ping.seconds();
    EXPECT_TRUE(ping.right());
    ping.seconds();
    EXPECT_TRUE(ping.right()) << "another letter each time";
  }
  two_ranks().garbles = true;
  ping.seconds();
  EXPECT_FALSE(ping.right());
  PingPong of_nothing(0);
  of_nothing.seconds();
  EXPECT_TRUE(of_nothing.right());
}

TEST_P(Messages, OfAStreamAreLookedAtByWhoReceivesThem) {
  MessageStream stream(64);
  stream.seconds();
  EXPECT_TRUE(stream.right());
  EXPECT_THAT(two_ranks().calls, Contains(fmt::format("wait for {}", MessageStream::window)));
  two_ranks().garbles = true;
  stream.seconds();
  EXPECT_EQ(stream.right(), GetParam() == 0);
}

INSTANTIATE_TEST_SUITE_P(Of, Messages, ::testing::Values(0, 1));

TEST(LoneRank, SendsNothing) {
  two_ranks() = {};
  two_ranks().ranks = 1;
  PingPong ping(8);
  MessageStream stream(8);

  EXPECT_EQ(ping.seconds(), 0.0);
  EXPECT_EQ(stream.seconds(), 0.0);

  EXPECT_TRUE(ping.right());
  EXPECT_TRUE(stream.right());
  EXPECT_THAT(two_ranks().calls,
              ElementsAre("barrier", "maximum", "barrier", "maximum", "maximum", "maximum"));
}

TEST(Ranks, AgreeOnTheLargestNumberAndOnWhetherAllSayYes) {
  two_ranks() = {};
  two_ranks().others = 3.0;
  EXPECT_EQ(largest_of_ranks(2.0), 3.0);
  EXPECT_EQ(largest_of_ranks(4.0), 4.0);
  EXPECT_FALSE(all_ranks(true));
  EXPECT_EQ(slowest_of_ranks({{1.0, 5.0}, {2.0}}), (std::vector<Sample>{{3.0, 5.0}, {3.0}}));
  two_ranks().others = 0.0;
  EXPECT_TRUE(all_ranks(true));
  EXPECT_FALSE(all_ranks(false));
}

TEST(Turns, HoldOthersOffOnAllRanksAtOnce) {
  two_ranks() = {};
  take_turns({[] { return 1.0; }}, {.rounds = 2, .warm_ups = 1, .company = Company::held_off});
  EXPECT_THAT(two_ranks().calls, ElementsAre("barrier", "barrier", "barrier"));
  two_ranks().calls.clear();
  EXPECT_EQ(take_turns({[] { return 1.0; }}, {.rounds = 0, .warm_ups = 2}),
            (std::vector<Sample>{{}}));
  EXPECT_THAT(two_ranks().calls, ElementsAre());
}

TEST(BenchP2p, GivesRatesOfOneMessage) {
  two_ranks() = {};
  BenchQuestion question;
  question.sizes = {1000, 64'000};
  question.rounds = 3;

  const BenchTable table = bench_p2p(question);

  ASSERT_EQ(table.rows.size(), 4u);
  const std::vector<std::string> names{"latency, 1000 B", "bandwidth, 1000 B", "latency, 62.5 KiB",
                                       "bandwidth, 62.5 KiB"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(table.rows[i].name, names[i]);
    EXPECT_EQ(table.rows[i].seconds.size(), 3u);
    EXPECT_TRUE(table.rows[i].right);
    const double bytes = i < 2 ? 1e3 : 64e3;
    EXPECT_DOUBLE_EQ(table.rows[i].figures[0], bytes * 1e-9 / median(table.rows[i].seconds));
  }
}

// A window of a stream is 64 messages, and what is said is one's share.
TEST(BenchP2p, SharesTheTimeOfAStreamAmongItsMessages) {
  two_ranks() = {};
  two_ranks().call_s = 1e-4;
  BenchQuestion question;
  question.sizes = {8};
  question.rounds = 3;
  BenchTable table;

  const double all = wall_seconds([&] { table = bench_p2p(question); });

  EXPECT_LE(table.rows[1].seconds[0], all / MessageStream::window);
}

TEST(BenchP2p, HasSizesOfItsOwnAndFewerRoundsOfLongOnes) {
  two_ranks() = {};
  BenchQuestion question;
  question.rounds = 16;

  const BenchTable table = bench_p2p(question);

  ASSERT_EQ(table.rows.size(), 16u);
  EXPECT_EQ(table.rows.front().name, "latency, 8 B");
  EXPECT_EQ(table.rows.back().name, "bandwidth, 16 MiB");
  EXPECT_EQ(table.rows[11].name, "bandwidth, 256 KiB");
  EXPECT_EQ(table.rows[11].seconds.size(), 16u);
  EXPECT_EQ(table.rows[13].name, "bandwidth, 2 MiB");
  EXPECT_EQ(table.rows[13].seconds.size(), 4u);
}

// A group of which this rank is a member, whose others bring what this rank brings for them.
class MadeUpGroup : public Communicator {
 public:
  MadeUpGroup(std::int64_t members, std::int64_t position) : size_(members), position_(position) {}
  std::int64_t size() const override { return size_; }
  std::int64_t position() const override { return position_; }
  Post start(const CollectiveCall& call) override {
    call_ = call;
    return 1;
  }
  bool progress() override { return false; }
  bool finished(Post) override { return true; }
  void finish(Post) override {
    const std::int64_t piece = std::min(call_.send.size(), call_.receive.size());
    for (std::int64_t i = 0; i < call_.receive.size(); ++i) {
      call_.receive.fp32()[i] = value(i, piece) + (i == wrong_at ? 1.0F : 0.0F);
    }
  }

  std::int64_t wrong_at = -1;

 private:
  static float number(std::int64_t member, std::int64_t i) {
    return static_cast<float>((member * 31 + i) % 1021);
  }
  float value(std::int64_t i, std::int64_t piece) const {
    if (call_.kind == CollectiveKind::all_gather) return number(i / piece, i % piece);
    const std::int64_t first = call_.kind == CollectiveKind::reduce_scatter ? position_ * piece : 0;
    float sum = 0.0F;
    for (std::int64_t member = 0; member < size_; ++member) sum += number(member, first + i);
    return sum;
  }

  std::int64_t size_, position_;
  CollectiveCall call_;
};

TEST(Collectives, CountAndCheckTheWholeBuffer) {
  two_ranks() = {};
  for (const std::int64_t members : {2, 3, 4}) {
    for (const std::int64_t position : {std::int64_t{0}, members - 1}) {
      for (const std::int64_t bytes : {1, 4, 1000, 4096}) {
        for (CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter}) {
          MadeUpGroup group(members, position);
          CollectiveRun run(group, kind, bytes);

          // Whole pieces of whole elements, at least one each.
          const double pieces = 4.0 * static_cast<double>(members);
          const double whole =
              pieces *
              std::max(1.0, std::ceil(std::floor(static_cast<double>(bytes) / 4) * 4 / pieces));
          EXPECT_EQ(run.bytes(), whole) << members << " " << bytes;
          const double once = static_cast<double>(members - 1) / static_cast<double>(members);
          EXPECT_DOUBLE_EQ(run.bus_bytes(),
                           whole * once * (kind == CollectiveKind::all_reduce ? 2.0 : 1.0));
          EXPECT_TRUE(run.right());
          group.wrong_at = 0;
          EXPECT_FALSE(run.right());
        }
      }
    }
  }
}

TEST(Collectives, AreStartedBeforeTheWorkBesideThem) {
  two_ranks() = {};
  MadeUpGroup group(2, 0);
  CollectiveRun run(group, CollectiveKind::all_reduce, 64);
  EXPECT_GE(run.seconds_beside(2e-3), 2e-3);
}

}  // namespace
}  // namespace fourfold::tests

// The library's calls, with no other process behind them.
extern "C" {

int MPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = fourfold::tests::two_ranks().rank;
  return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm, int* size) {
  *size = fourfold::tests::two_ranks().ranks;
  return MPI_SUCCESS;
}
int MPI_Barrier(MPI_Comm) {
  fourfold::tests::two_ranks().calls.emplace_back("barrier");
  return MPI_SUCCESS;
}
int MPI_Send(const void* from, int count, MPI_Datatype, int to, int, MPI_Comm) {
  fourfold::tests::two_ranks().calls.push_back(fmt::format("send {} to {}", count, to));
  fourfold::tests::last_sent.assign(static_cast<const char*>(from),
                                    static_cast<std::size_t>(count));
  fourfold::tests::pass_time();
  return MPI_SUCCESS;
}
int MPI_Recv(void* to, int count, MPI_Datatype, int from, int, MPI_Comm, MPI_Status*) {
  fourfold::tests::two_ranks().calls.push_back(fmt::format("receive {} from {}", count, from));
  if (count > 0) fourfold::tests::deliver(to, count);
  fourfold::tests::pass_time();
  return MPI_SUCCESS;
}
int MPI_Isend(const void*, int count, MPI_Datatype, int to, int, MPI_Comm, MPI_Request*) {
  fourfold::tests::two_ranks().calls.push_back(fmt::format("start to send {} to {}", count, to));
  fourfold::tests::pass_time();
  return MPI_SUCCESS;
}
int MPI_Irecv(void* to, int count, MPI_Datatype, int from, int, MPI_Comm, MPI_Request*) {
  fourfold::tests::two_ranks().calls.push_back(
      fmt::format("start to receive {} from {}", count, from));
  fourfold::tests::last_sent.clear();
  fourfold::tests::deliver(to, count);
  return MPI_SUCCESS;
}
int MPI_Waitall(int count, MPI_Request*, MPI_Status*) {
  fourfold::tests::two_ranks().calls.push_back(fmt::format("wait for {}", count));
  return MPI_SUCCESS;
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype, MPI_Op, MPI_Comm) {
  fourfold::tests::two_ranks().calls.emplace_back("maximum");
  const double* own = static_cast<const double*>(from == MPI_IN_PLACE ? to : from);
  double* largest = static_cast<double*>(to);
  for (int i = 0; i < count; ++i)
    largest[i] = std::max(own[i], fourfold::tests::two_ranks().others);
  return MPI_SUCCESS;
}

}  // extern "C"
