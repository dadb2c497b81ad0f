// Messages between pairs of ranks, timed as OSU's benchmarks do: half a round trip, and a stream of
// messages in one direction. Every pair of ranks r and r + n/2 is at it at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fourfold::inline bench::inline measure {

// The partner of a rank; the rank itself where it has none.
std::int64_t partner_of(std::int64_t rank, std::int64_t ranks);

class PingPong {
 public:
  explicit PingPong(std::int64_t bytes);

  // Seconds of one way: half of a round trip, the longest of all pairs. Collective.
  double seconds();
  // Whether what came last is what the partner sent.
  bool right() const;

 private:
  std::vector<char> sent_, received_;
  std::int64_t rank_ = 0, partner_ = 0;
  char turn_ = 0;
};

class MessageStream {
 public:
  // As many messages under way at once as OSU's osu_bw has.
  static constexpr int window = 64;
  explicit MessageStream(std::int64_t bytes);

  // Seconds of a window of messages to the partner and its short answer, the longest of all pairs.
  // Collective.
  double seconds();
  bool right() const;

 private:
  std::vector<char> sent_, received_;
  std::int64_t rank_ = 0, partner_ = 0;
};

// From a common barrier to the end of the slowest rank. Collective.
template <typename Work>
double slowest_seconds(const Work& work);

// The largest of all ranks' numbers, and whether all say yes. Collective.
double largest_of_ranks(double own);
bool all_ranks(bool own);
void wait_for_all_ranks();

template <typename Work>
double slowest_seconds(const Work& work) {
  wait_for_all_ranks();
  return largest_of_ranks(work());
}

}  // namespace fourfold::inline bench::inline measure
