// The whole training step: the parts of a model in an order. One stage knows one order today,
// forward and backward of each micro-batch in turn.
#pragma once

#include "schedule/models/model.hpp"
#include "schedule/program/program.hpp"

namespace fourfold {

// Start; forward and backward of each micro-batch; reduction, if it is put after them; finish. All
// micro-batches but the first and the last are alike.
Order one_by_one(const StepOptions& options);

// Why an order cannot be done, as a sentence; empty if it can: it starts and finishes, no backward
// comes before its forward, each micro-batch has one of either, and the steady stretch it declares
// says the same turns again and again.
std::string fault(const Order& order);

// Throws std::invalid_argument with the sentence of `fault`.
Program record_step(const Model& model, const StepOptions& options, const Order& order);
// In the order of one stage.
Program record_step(const Model& model, const StepOptions& options);

// The forward pass of one micro-batch alone; see Gpt::evaluation.
Program record_evaluation(const Model& model, const StepOptions& options);

}  // namespace fourfold
