// Reads what trainers leave in checkpoints; see trained_before.hpp.
#include "engine/train/run/trained_before.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

double number_in(const nlohmann::json& object, const char* key, double otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

double seconds_of_warm_up(const TrainingState& state, std::int64_t steps, double trained_seconds) {
  const nlohmann::json kept = state.trainer.value("warm_up", nlohmann::json());
  if (number_in(kept, "steps", -1.0) == static_cast<double>(steps)) {
    return number_in(kept, "seconds", 0.0);
  }
  if (state.step < steps || state.step == 0) return trained_seconds;
  return trained_seconds * static_cast<double>(steps) / static_cast<double>(state.step);
}

}  // namespace

Trained trained_before(const LearningRate& rate, const TrainingState& state) {
  const double seconds = number_in(state.trainer, "trained_seconds", 0.0);
  return {.steps_before = state.step,
          .seconds_before = seconds,
          .seconds_of_warm_up = seconds_of_warm_up(state, rate.warm_up_steps, seconds)};
}

}  // namespace fourfold::inline engine::inline train::inline run
