// What holds of every outcome, whoever says it: its parts add up to the whole, the bubble of a
// pipeline being part of what its channels expose.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/question/outcome.hpp"

namespace fourfold::tests {

inline double sum_of_parts(const Outcome& outcome) {
  double sum = outcome.compute.value;
  for (Seconds exposed : outcome.exposed) sum += exposed.value;
  return sum;
}

inline void expect_bubble_within_pipe(const Outcome& outcome, const std::string& words) {
  double pipe = 0.0;
  for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
    EXPECT_GE(outcome.exposed[c].value, -1e-12) << words << ' ' << name(outcome.channels[c]);
    if (outcome.channels[c].axis == Axis::pipe) pipe += outcome.exposed[c].value;
  }
  EXPECT_LE(outcome.bubble.value, pipe * (1.0 + 1e-6) + 1e-12) << words;
  EXPECT_GT(outcome.compute.value, 0.0) << words;
}

// Means over devices of which some end long before the last, as stages do that have few weights to
// fetch.
inline void expect_parts_within(const Outcome& outcome, const std::string& words) {
  const double part = sum_of_parts(outcome) / outcome.total.value;
  EXPECT_LE(part, 1.0 + 1e-6) << words;
  EXPECT_GE(part, 0.6) << words;
  expect_bubble_within_pipe(outcome, words);
}

// As the closed form takes them, devices of a stage are all alike. No more of a channel is exposed
// than it is busy, but for what devices wait for the last member of their group: `waiting`, by
// channel, as expected_waiting() says of the program.
inline void expect_parts_add_up(const Outcome& outcome, const std::vector<Seconds>& waiting,
                                const std::string& words) {
  const bool pipelined = std::ranges::any_of(
      outcome.channels, [](const Channel& channel) { return channel.axis == Axis::pipe; });
  expect_parts_within(outcome, words);
  if (!pipelined) {
    EXPECT_NEAR(sum_of_parts(outcome) / outcome.total.value, 1.0, 1e-6) << words;
  }
  ASSERT_EQ(waiting.size(), outcome.channels.size()) << words;
  for (std::size_t c = 0; c < outcome.channels.size(); ++c) {
    if (outcome.channels[c].axis == Axis::pipe) continue;
    const Seconds taken = outcome.busy[c] + waiting[c];
    EXPECT_LE(outcome.exposed[c].value, taken.value * (1.0 + 1e-9) + 1e-12)
        << words << ' ' << name(outcome.channels[c]);
  }
}

inline void expect_times(const Outcome& slow, const Outcome& fast, double factor,
                         const std::string& words, double tolerance = 1e-9) {
  const double total = slow.total.value;
  EXPECT_NEAR(total / fast.total.value, factor, factor * tolerance) << words;
  EXPECT_NEAR(slow.compute.value, factor * fast.compute.value, tolerance * total) << words;
  EXPECT_NEAR(slow.bubble.value, factor * fast.bubble.value, tolerance * total) << words;
  ASSERT_EQ(slow.exposed.size(), fast.exposed.size());
  for (std::size_t c = 0; c < slow.exposed.size(); ++c) {
    EXPECT_NEAR(slow.exposed[c].value, factor * fast.exposed[c].value, tolerance * total) << words;
    EXPECT_NEAR(slow.busy[c].value, factor * fast.busy[c].value, tolerance * total) << words;
  }
}

}  // namespace fourfold::tests
