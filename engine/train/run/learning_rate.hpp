// The learning rate of each step: a warm-up to the peak, and from its end on the way down to a part
// of the peak, which is reached where the run is over.
#pragma once

#include <cstdint>
#include <string>

#include "engine/train/run/run_length.hpp"

namespace fourfold::inline engine::inline train::inline run {

// How the rate falls: as half a cosine; in a straight line; not before the last part of the run,
// and then in a straight line (warm-up, stable, decay: Hu et al. 2024, arXiv:2404.06395); or never.
enum class RateDecay : std::uint8_t { cosine, linear, wsd, constant };
const char* name(RateDecay decay);
// Throws std::invalid_argument that lists the known names.
RateDecay parse_rate_decay(const std::string& text);

struct LearningRate {
  double peak = 2e-3;
  double last_part = 0.05;  // of the peak, when the run is over
  // With 30, Adam's steps of equal size for all weights overshoot in the first block's attention at
  // the default peak: one step at 2.3 nats above its neighbours (seeds 1 and 3).
  std::int64_t warm_up_steps = 100;
  RateDecay decay = RateDecay::cosine;
  double decay_part = 0.2;  // of the run, at its end, in which wsd falls

  // Of the step after those that are trained. With p = 0 where the decay begins and 1 where the run
  // is over: peak (1 - (1 - last_part) (1 - shape(p))), shape = (1 + cos pi p) / 2 or 1 - p. Step
  // number warm_up_steps, and the one behind it, have the peak itself. In a straight line p = 1 in
  // the last step, where steps end the run, and be it the decay's only one; half a cosine is as
  // good as flat there.
  double at(const RunLength& length, const Trained& trained) const;

 private:
  double began(const RunLength& length, const Trained& trained) const;
};

// "learning rate 0.002 after 100 steps of warm-up, cosine to 0.0001".
std::string described(const LearningRate& rate);

// Where the warm-up reaches into the part in which wsd falls, so that it falls in less: a sentence,
// or nothing. Minutes tell only while they pass.
std::string squeezed_decay(const LearningRate& rate, const RunLength& length);

// What a run of so many steps (0: no limit) does not reach of the peak: a sentence, or nothing.
std::string unfinished_warm_up(const LearningRate& rate, std::int64_t steps);

}  // namespace fourfold::inline engine::inline train::inline run
