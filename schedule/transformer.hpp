// One training step of a GPT, written once: forward, backward, gradient accumulation, clipping and
// AdamW. Everything that needs the algorithm interprets the program this returns.
#pragma once

#include "schedule/model.hpp"
#include "schedule/program.hpp"

namespace fourfold {

// The whole step: `options.micro_batches` micro-batches over every layer.
Program record_step(const Model& model, const StepOptions& options);

}  // namespace fourfold
