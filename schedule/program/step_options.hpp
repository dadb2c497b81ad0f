// The choices of a training step beside model, grid and batch; every record prints all of them.
// Those that change the numbers trained, beyond the order of sums, are marked in their table
// (`.numbers`).
#pragma once

#include <cstdint>

#include "schedule/program/layers_per_stage.hpp"
#include "schedule/program/phase.hpp"
#include "schedule/program/pipeline_order.hpp"
#include "schedule/program/rank_order.hpp"

namespace fourfold::inline support {
template <typename T>
class FieldTable;
}  // namespace fourfold::inline support

namespace fourfold::inline schedule::inline program {

enum class Precision : std::uint8_t { bf16, fp32, int32, fp8 };
constexpr std::int64_t bytes_per_element(Precision p) {
  if (p == Precision::fp8) return 1;
  return p == Precision::bf16 ? 2 : 4;
}
const char* name(Precision precision);

// The factors of a block's four products and of their gradients: as they are stored, or cast to 8
// bits with a scale for each matrix, from what it was in past steps (delayed) or is (current), or
// with one for each 32 elements (MX). Sums, results, attention, norms, embeddings and logits stay.
enum class ProductPrecision : std::uint8_t { stored, fp8_delayed, fp8_current, mxfp8 };

// Activation checkpointing: full repeats a block's forward before its backward; selective only the
// scores and the softmax of unfused attention (Korthikanti et al., arXiv:2205.05198). Fused
// attention keeps neither, so that nothing is left to select: there, selective is none. mlp repeats
// an MLP from its norm to its activation; norms those before products (Megatron-Core,
// recompute-modules).
enum class Recompute : std::uint8_t { none, full, selective, mlp, norms };
// Attention in one kernel that keeps no scores, or as products and a softmax whose probabilities
// are kept.
enum class AttentionKernel : std::uint8_t { fused, unfused };
// Weights gathered along z anew for every micro-batch, once for recompute and backward together; in
// each of these passes (AxoNN as released); or once and kept.
enum class WeightGather : std::uint8_t { per_micro_batch, per_pass, keep };
// Gradients reduce-scattered along z per micro-batch (as the published code), or summed locally
// first.
enum class GradientReduction : std::uint8_t { per_micro_batch, accumulated };
// The data all-reduce of gradients: all after the backward pass (as the published code), or each
// block's bucket beside the backward pass of the blocks before it.
enum class DataReduction : std::uint8_t { after_backward, beside_backward };

const char* name(ProductPrecision products);
const char* name(Recompute recompute);
const char* name(AttentionKernel kernel);
const char* name(WeightGather gather);
const char* name(GradientReduction reduction);
const char* name(DataReduction reduction);

// The paper's three overlaps, two that narrow them, and that of messages between stages; off means a
// wait right after the start.
struct Overlap {
  bool all_reduce = true;        // OAR: backward all-reduce beside the dW product
  bool reduce_scatter = true;    // ORS: gradient reduce-scatters beside the backward pass
  bool all_gather = true;        // OAG: the next layer's weight gather beside this layer
  bool recompute_gather = true;  // OAG also for the gathers of recompute
  bool across_blocks = true;     // that from block to block; else a block's first one is waited for
  bool messages = true;          // receives are posted ahead, sends waited for at the next one
  bool operator==(const Overlap&) const = default;
};

struct StepOptions {
  std::int64_t micro_batches = 1;
  // In which weights and activations are kept and sent. fp32 means fp32 throughout: weights are
  // their own masters, and gradients are reduced in fp32 whatever the two precisions below say.
  Precision precision = Precision::bf16;
  ProductPrecision products = ProductPrecision::stored;
  Recompute recompute = Recompute::full;
  // Of every n layers of a chunk the last is recomputed (torchtitan), and of a chunk only the first
  // n (Megatron-LM's recompute-method block); 0: all of them.
  std::int64_t recompute_every = 1;
  std::int64_t recompute_layers = 0;
  AttentionKernel attention = AttentionKernel::fused;
  Overlap overlap;
  // Blocks whose reduce-scatters may be in flight before the oldest is waited for: bounds memory.
  std::int64_t in_flight_blocks = 2;
  WeightGather weight_gather = WeightGather::per_micro_batch;
  GradientReduction gradient_reduction = GradientReduction::per_micro_batch;
  DataReduction data_reduction = DataReduction::after_backward;
  PipelineOrder order = PipelineOrder::one_f_one_b;
  LayersPerStage layers_per_stage{};
  std::int64_t chunks = 1;  // of layers on each stage: the virtual stages of the interleaved order
  // Micro-batches in flight in the message-driven order, at most; 0: as many as there are stages.
  std::int64_t pipeline_limit = 0;
  // Between blocks the tokens are cut by x as well (Korthikanti et al., arXiv:2205.05198): the
  // all-reduce along x after a pair of products becomes a reduce-scatter, and an all-gather stands
  // before the next.
  bool sequence_parallel = false;
  // A message between stages, of which all devices along x have a copy, is sent by each of them in
  // part and gathered on arrival (scatter-gather of Megatron-LM, SC21).
  bool cut_messages = false;
  // Gradients are reduced, and updated weights gathered, along data in buckets of so many elements
  // of the model, before any axis cuts them (reduce_bucket_size of DeepSpeed): of as many whole
  // blocks as it has room for, or of whole weights of one block; 0: block by block, and what ZeRO
  // cuts weight by weight.
  std::int64_t data_bucket = 0;
  // Those buckets have at least so many elements of a device for each member of its group along
  // data, so that the pieces of a long ring do not become small (Megatron-Core); 0: says nothing.
  std::int64_t data_bucket_each = 0;
  // What is cut along data, after z (Rajbhandari et al., arXiv:1910.02054): 1 the optimizer's
  // state, 2 gradients too, reduced for every micro-batch, 3 weights too, which then do along data
  // what z does.
  std::int64_t zero = 0;
  // Masters and moments are in the host's memory, and come to the device in buckets of so many
  // elements to be updated (Singh and Bhatele, IPDPS 2022); 0: all of them stay on the device.
  std::int64_t offload_bucket = 0;
  // With full recompute the input of each recomputed block, which is what a pass keeps of it, waits
  // in the host's memory from the end of the block's forward to its backward (torchtune's
  // enable_activation_offloading, DeepSpeed's cpu_checkpointing).
  bool offload_activations = false;
  // Columns of the vocabulary on each device along x are filled up to a whole number of so many, as
  // products are quicker then (Megatron-LM's make-vocab-size-divisible-by); 0: none are added.
  std::int64_t pad_vocabulary = 0;
  // Which axis's neighbours are neighbours on the machine.
  RankOrder rank_order{};
  // In fp32 it is the masters that are gathered along z, and narrowed by who has gathered them.
  Precision weight_gather_precision = Precision::bf16;
  Precision grad_reduce_precision_z = Precision::bf16;
  Precision grad_reduce_precision_data = Precision::fp32;
  Phase phase = Phase::training;  // no choice of a step, but which: it has no row in the table
  bool operator==(const StepOptions&) const = default;

  bool trains() const { return row_of(phase).trains; }
  bool cuts_optimizer() const { return zero >= 1; }
  bool cuts_gradients() const { return zero >= 2; }
  bool cuts_weights() const { return zero >= 3; }
  // Whether the layer at a place of its chunk, from 0 on, is recomputed as `recompute` says.
  bool recomputes_layer(std::int64_t place) const {
    return (place + 1) % recompute_every == 0 &&
           (recompute_layers == 0 || place < recompute_layers);
  }
  bool narrows_products() const { return products != ProductPrecision::stored; }
  bool has_buckets() const { return data_bucket > 0; }
  bool offloads() const { return offload_bucket > 0; }
  bool offloads_inputs() const { return offload_activations && recompute == Recompute::full; }
  // Sequence parallelism has cut what is sent already.
  bool cuts_messages() const { return cut_messages && !sequence_parallel; }

  bool gathers_masters() const {
    return precision == Precision::bf16 && weight_gather_precision == Precision::fp32;
  }

  // The precisions in which gradients are reduced.
  Precision reduce_precision_z() const { return reduce_precision(grad_reduce_precision_z); }
  Precision reduce_precision_data() const { return reduce_precision(grad_reduce_precision_data); }

 private:
  Precision reduce_precision(Precision chosen) const {
    return precision == Precision::fp32 ? Precision::fp32 : chosen;
  }
};

// Most blocks that may be in flight: far above the layers of any model, so that sums cannot
// overflow.
inline constexpr std::int64_t most_in_flight_blocks = 1000;

// Elements of a bucket, of gradients or of an offloaded optimizer: above the weights of any model.
inline constexpr std::int64_t most_in_bucket = std::int64_t{1} << 40;

// Columns that a vocabulary is padded to: far above a tile of any product.
inline constexpr std::int64_t most_padding = 1 << 16;

// Every option: its key in campaigns, points and records, its flag, and what it may be. A new one
// is a member above, a row there, and its line in docs/campaigns.md.
const FieldTable<StepOptions>& step_fields();

}  // namespace fourfold::inline schedule::inline program
