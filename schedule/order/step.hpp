// The whole training step of a stage: the parts of a model in an order, forward and backward of
// each micro-batch in the sequence that the options name.
#pragma once

#include "schedule/models/model.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline order {

// Start; forwards and backwards of the stage's chunks in the order of the options; reduction, if it
// is put after them; finish. All micro-batches but the first and the last are alike.
Order order_of(const StepOptions& options, const Stage& stage = {});
// The same order with at most `most` equal turns, or pairs of them, in a row: of fewer
// micro-batches, and with shorter groups of them. Not of ready-queues.
Order short_order(const StepOptions& options, const Stage& stage, std::int64_t most);
// How many micro-batches it takes until an order of this kind has so many periods in each of its
// steady stretches.
std::int64_t settling_micro_batches(const StepOptions& options, const Stage& stage,
                                    std::int64_t periods);

// The options with which a step of so many stages is the same, what makes no difference there as
// it usually is: a fused attention keeps nothing to select from, and one stage sends no messages.
StepOptions plain(StepOptions options, std::int64_t stages);

// Why an order cannot be done, as a sentence; empty if it can: it starts and finishes, no backward
// comes before its forward, each micro-batch has one of either in each chunk, a weight gradient
// follows each input gradient, and the steady stretches it declares say the same turns again and
// again. A phase that trains nothing has forwards alone.
std::string fault(const Order& order, bool trains = true);

// Throws std::invalid_argument with the sentence of `fault`.
Program record_step(const Model& model, const StepOptions& options, const Order& order,
                    const Stage& stage = {});
Program record_step(const Model& model, const StepOptions& options, const Stage& stage = {});

// The forward pass of one micro-batch alone, whatever `options` say of micro-batches and recompute,
// of a phase that trains nothing: on the last stage it keeps "logits" for who reads them
// afterwards.
Program record_forward(const Model& model, const StepOptions& options, Phase phase,
                       const Stage& stage = {});
// That of an evaluation, which also keeps the completed "loss" (sum over the tokens) and the loss
// of each token.
Program record_evaluation(const Model& model, const StepOptions& options, const Stage& stage = {});

}  // namespace fourfold::inline schedule::inline order
