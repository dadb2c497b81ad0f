// What bench-engine_training_overlap is asked, and the words its ranks train on.
#pragma once

#include <string>

#include "engine/batch.hpp"
#include "engine/executor.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline microbench {

struct OverlapQuestion {
  Model model = read_model("gpt2-mini");
  ProcessGrid grid;
  StepOptions options;
  std::int64_t batch = 16;
  std::int64_t repetitions = 7;
  std::string modes = "tiles,thread,none";  // besides t_apart
};

inline LocalBatch local_batch(const OverlapQuestion& question, std::int64_t rank) {
  const Batch batch = random_batch(question.model, question.batch, 1);
  const std::int64_t micro_batches = question.options.micro_batches;
  const std::int64_t tokens = question.batch / micro_batches * question.model.sequence;
  LocalBatch local;
  local.sequences = question.batch;
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    const Share part = share(question.grid, rank, i, tokens);
    const auto take = [&](const std::vector<std::int32_t>& from, std::vector<std::int32_t>& to) {
      to.insert(to.end(), from.begin() + part.first, from.begin() + part.first + part.count);
    };
    take(batch.tokens, local.tokens);
    take(batch.targets, local.targets);
  }
  return local;
}

}  // namespace fourfold::inline microbench
