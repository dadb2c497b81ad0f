// A run's log as numbers that are recorded: loss, norm, learning rate and validation of each step,
// the same on any number of ranks, in any order of a pipeline and with any part of ZeRO.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "tests/golden.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

struct Variant {
  ProcessGrid grid;
  StepOptions options;
};

StepOptions options_with(PipelineOrder order, std::int64_t zero) {
  StepOptions options;
  options.precision = Precision::fp32;
  options.micro_batches = 2;
  options.order = order;
  options.zero = zero;
  return options;
}

// Of as many ranks as there are: one that cuts weights, one that cuts copies, one of two stages.
std::vector<Variant> variants() {
  const std::int64_t ranks = world_size();
  using enum PipelineOrder;
  std::vector<Variant> all{{ProcessGrid(1, 1, 1, ranks), options_with(one_f_one_b, 2)}};
  all.back().options.attention = AttentionKernel::unfused;
  if (ranks == 1) {
    all.push_back({{1, 1, 1, 1}, options_with(gpipe, 0)});
    all.back().options.offload_bucket = 100;
    return all;
  }
  all.push_back({{1, 1, 2, ranks / 2}, options_with(one_f_one_b, 3)});
  all.back().options.data_reduction = DataReduction::beside_backward;
  all.push_back({{ranks / 2, 1, 1, 1, 2}, options_with(interleaved, 0)});
  all.back().options.chunks = 2;
  all.back().options.sequence_parallel = true;
  all.push_back({{1, ranks / 2, 1, 1, 2}, options_with(zero_bubble, 0)});
  all.back().options.recompute = Recompute::none;
  return all;
}

TrainSettings settings_of(const Variant& variant, const SharedFolder& folder, int number) {
  TrainSettings settings = small_run(folder);
  settings.model.layers = 4;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += std::to_string(i * i) + " is the square of " + std::to_string(i) + "\n";
  }
  settings.data.files = {folder.write("squares.txt", text)};
  settings.data.validation_words = 3 * 8 * 16;
  settings.grid = variant.grid;
  settings.options = variant.options;
  settings.length.steps = 6;
  settings.learning_rate = {.peak = 3e-3, .last_part = 0.2, .warm_up_steps = 2};
  settings.optimizer.weight_decay = 0.3;
  settings.optimizer.clip_norm = 0.8;
  settings.validate_every = 3;
  settings.sampling.tokens = 3;
  settings.folder += std::to_string(number);
  return settings;
}

std::string numbers_of(const TrainSettings& settings) {
  std::string text;
  for (const nlohmann::json& entry : log_of(settings)) {
    text += entry.at("kind").get<std::string>();
    for (const char* key : {"step", "loss", "gradient_norm", "learning_rate", "done"}) {
      if (entry.contains(key)) text += fmt::format(" {} {:.8g}", key, entry.at(key).get<double>());
    }
    text += '\n';
  }
  return text;
}

TEST(RecordedRun, HasTheNumbersOfEveryOtherOne) {
  if (world_size() > 4) GTEST_SKIP() << "four ranks cut all that is cut here";
  const SharedFolder folder;
  World world;
  int number = 0;
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.grid.str());
    const TrainSettings settings = settings_of(variant, folder, number++);

    const TrainOutcome outcome = train_model(settings, world);

    const TrainingState state = read_training_state(outcome.checkpoint);
    const std::string text = numbers_of(settings) + fmt::format("position {}\n", state.position);
    expect_golden_numbers("recorded_run.txt", text, 2e-4);
  }
}

}  // namespace
}  // namespace fourfold::tests
