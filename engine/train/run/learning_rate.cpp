// Warm-up and decay in closed form; see learning_rate.hpp.
#include "engine/train/run/learning_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace fourfold::inline engine::inline train::inline run {

namespace {

constexpr std::array names{"cosine", "linear", "wsd", "constant"};

// Of the way from the last rate to the peak, where the part `p` of the decay is over.
double shape(RateDecay decay, double p) {
  if (decay == RateDecay::constant) return 1.0;
  return decay == RateDecay::cosine ? 0.5 * (1.0 + std::cos(std::numbers::pi * p)) : 1.0 - p;
}

}  // namespace

const char* name(RateDecay decay) {
  return names[static_cast<std::size_t>(decay)];
}

RateDecay parse_rate_decay(const std::string& text) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<RateDecay>(found - names.begin());
  throw std::invalid_argument("unknown decay of the learning rate '" + text +
                              "'; known: cosine, linear, wsd, constant");
}

// The part of the run that is over where the rate begins to fall.
double LearningRate::began(const RunLength& length, const Trained& trained) const {
  const double warm =
      length.done({.steps_before = warm_up_steps, .seconds_before = trained.seconds_of_warm_up});
  return decay == RateDecay::wsd ? std::max(warm, 1.0 - decay_part) : warm;
}

double LearningRate::at(const RunLength& length, const Trained& trained) const {
  const std::int64_t step = trained.steps() + 1;
  if (step <= warm_up_steps) {
    return peak * (static_cast<double>(step) / static_cast<double>(warm_up_steps));
  }
  const double begin = began(length, trained);
  const bool straight = decay == RateDecay::linear || decay == RateDecay::wsd;
  const double end = straight ? length.before_last_step() : 1.0;
  const double left = end - begin, done = length.done(trained);
  // A decay of one step alone has its end in it, but for the step behind the warm-up.
  const bool ends_at_once = step > warm_up_steps + 1 && done >= end;
  const double p = left > 0.0 ? (done - begin) / left : ends_at_once ? 1.0 : 0.0;
  return peak * (1.0 - (1.0 - last_part) * (1.0 - shape(decay, std::clamp(p, 0.0, 1.0))));
}

std::string described(const LearningRate& rate) {
  std::string text = fmt::format("learning rate {:g} after {} steps of warm-up, {}", rate.peak,
                                 rate.warm_up_steps, name(rate.decay));
  if (rate.decay == RateDecay::constant) return text;
  if (rate.decay == RateDecay::wsd) text += fmt::format(" in the last {:g}", rate.decay_part);
  return text + fmt::format(" to {:g}", rate.peak * rate.last_part);
}

std::string squeezed_decay(const LearningRate& rate, const RunLength& length) {
  const double warm = length.done({.steps_before = rate.warm_up_steps});
  if (rate.decay != RateDecay::wsd || warm <= 1.0 - rate.decay_part) return "";
  return fmt::format(
      "the warm-up of {} steps reaches into the last {:g} of the run, in which the learning rate "
      "is to fall: it falls in the last {:.2g} alone (--warm-up, --decay-part)",
      rate.warm_up_steps, rate.decay_part, 1.0 - warm);
}

std::string unfinished_warm_up(const LearningRate& rate, std::int64_t steps) {
  if (steps == 0 || steps >= rate.warm_up_steps) return "";
  return fmt::format(
      "the warm-up of {} steps is longer than the run of {}: the learning rate ends at {:g}, not "
      "at its peak (--warm-up)",
      rate.warm_up_steps, steps,
      rate.peak * static_cast<double>(steps) / static_cast<double>(rate.warm_up_steps));
}

}  // namespace fourfold::inline engine::inline train::inline run
