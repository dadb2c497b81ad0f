// One training step of a GPT, written once: forward, backward, gradient accumulation, clipping and
// AdamW; and its forward pass alone. Everything that needs the algorithm interprets the program
// this returns.
#pragma once

#include "schedule/models/model.hpp"
#include "schedule/program/program.hpp"

namespace fourfold {

// The whole step: `options.micro_batches` micro-batches over every layer.
Program record_step(const Model& model, const StepOptions& options);

// The forward pass of one micro-batch alone, whatever `options` say of micro-batches and recompute:
// it keeps the completed "loss" (sum over the tokens) and "logits" for who reads them afterwards.
Program record_evaluation(const Model& model, const StepOptions& options);

}  // namespace fourfold
