// What becomes of a step whose loss or gradient is no number, or whose gradient is too large
// (AdamW::largest_norm): the run stops, leaves the gradient out, or goes back to a checkpoint and
// reads on behind the step's data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fourfold::inline engine::inline train::inline run {

enum class BadSteps : std::uint8_t { stop, skip, rewind };
const char* name(BadSteps what);
// Throws std::invalid_argument that lists the known names.
BadSteps parse_bad_steps(const std::string& text);

// Without a sound step between them: then neither skipping nor going back helps.
inline constexpr std::int64_t most_bad_in_a_row = 10;

// Bad steps of a run, and how many came since it last went further than ever.
struct BadStepCount {
  std::int64_t all = 0, in_a_row = 0;
  std::int64_t farthest = 0;  // sound step

  void add_sound(std::int64_t step);
  void add_bad() { ++all, ++in_a_row; }
};

// A step as far as it can be bad. No loss: no target of it counts.
struct StepNumbers {
  std::int64_t step = 0;
  std::optional<double> loss;
  double gradient_norm = 0.0;
  bool applied = true;
};

bool is_bad(const StepNumbers& numbers);

// "training has diverged: in step 7 the loss is nan and the gradient's norm nan"; or that the norm
// is above --bad-norm.
std::string bad_step_text(const StepNumbers& numbers, double largest_norm);

}  // namespace fourfold::inline engine::inline train::inline run
