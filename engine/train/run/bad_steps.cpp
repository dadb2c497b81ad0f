// Names, counts and sentences of bad steps; see bad_steps.hpp.
#include "engine/train/run/bad_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "engine/train/run/sound.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

constexpr std::array names{"stop", "skip", "rewind"};

}  // namespace

const char* name(BadSteps what) {
  return names[static_cast<std::size_t>(what)];
}

BadSteps parse_bad_steps(const std::string& text) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<BadSteps>(found - names.begin());
  throw std::invalid_argument("--bad-steps must be stop, skip or rewind, not '" + text + "'");
}

void BadStepCount::add_sound(std::int64_t step) {
  if (step <= farthest) return;
  farthest = step;
  in_a_row = 0;
}

bool is_bad(const StepNumbers& numbers) {
  return !numbers.applied || !std::isfinite(numbers.loss.value_or(0.0));
}

std::string bad_step_text(const StepNumbers& numbers, double largest_norm) {
  const bool finite =
      std::isfinite(numbers.loss.value_or(0.0)) && std::isfinite(numbers.gradient_norm);
  if (finite) {
    return fmt::format("in step {} the gradient's norm is {:.4g}, above the {:g} of --bad-norm",
                       numbers.step, numbers.gradient_norm, largest_norm);
  }
  return fmt::format("training has diverged: in step {} the loss is {} and the gradient's norm {}",
                     numbers.step, numbers.loss ? number_text(*numbers.loss) : "none",
                     number_text(numbers.gradient_norm));
}

}  // namespace fourfold::inline engine::inline train::inline run
