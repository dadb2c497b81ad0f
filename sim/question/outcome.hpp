// What a timed rung found out about one training step: the seconds and where they went.
#pragma once

#include <algorithm>
#include <vector>

#include "schedule/program/channel.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline sim::inline question {

// Times of one device, of which compute + sum of exposed is the moment it ends; replay stores means
// over devices. total = the moment the last one ends, which means do not add up to.
struct Outcome {
  Seconds total;
  Seconds compute;                // with interference charges
  std::vector<Channel> channels;  // of the timed program, in its order
  std::vector<Seconds> exposed;   // by channel: waiting for a collective of it
  std::vector<Seconds> busy;      // by channel: a collective of it in flight
  // The pipeline's bubble, a part of what is exposed along pipe: waiting for a stage that has not
  // posted its part yet.
  Seconds bubble;

  Outcome() = default;
  explicit Outcome(const std::vector<Channel>& of)
      : channels(of), exposed(of.size()), busy(of.size()) {}

  Seconds exposed_total() const {
    Seconds sum;
    for (Seconds channel : exposed) sum += channel;
    return sum;
  }
  // Over all channels along an axis.
  Seconds exposed_along(Axis axis) const {
    Seconds sum;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      if (channels[c].axis == axis) sum += exposed[c];
    }
    return sum;
  }
};

// Of all stages of a pipeline, which have equally many devices: times are means, and the last one
// ends the step.
inline Outcome mean(const std::vector<Outcome>& stages) {
  if (stages.size() == 1) return stages.front();
  const double share = 1.0 / static_cast<double>(stages.size());
  Outcome sum(stages.front().channels);
  for (const Outcome& stage : stages) {
    sum.total = std::max(sum.total, stage.total);
    sum.compute += stage.compute * share;
    sum.bubble += stage.bubble * share;
    for (std::size_t c = 0; c < sum.channels.size(); ++c) {
      sum.exposed[c] += stage.exposed[c] * share;
      sum.busy[c] += stage.busy[c] * share;
    }
  }
  return sum;
}

}  // namespace fourfold::inline sim::inline question
