// Reads what trainers leave in checkpoints; see trained_before.hpp.
#include "engine/train/run/trained_before.hpp"

#include <nlohmann/json.hpp>

namespace fourfold::inline engine::inline train::inline run {

namespace {

double seconds_of_warm_up(const TrainingState& state, std::int64_t steps, double trained_seconds) {
  const auto kept = state.trainer.find("warm_up");
  if (kept != state.trainer.end() && kept->at("steps") == steps) return kept->at("seconds");
  if (state.step < steps || state.step == 0) return trained_seconds;
  return trained_seconds * static_cast<double>(steps) / static_cast<double>(state.step);
}

}  // namespace

Trained trained_before(const LearningRate& rate, const TrainingState& state) {
  const double seconds = state.trainer.value("trained_seconds", 0.0);
  return {.steps_before = state.step,
          .seconds_before = seconds,
          .seconds_of_warm_up = seconds_of_warm_up(state, rate.warm_up_steps, seconds)};
}

}  // namespace fourfold::inline engine::inline train::inline run
