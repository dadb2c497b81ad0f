// The table of the options of a step; see step_options.hpp. The first word of each is the usual
// one.
#include "schedule/program/step_options.hpp"

#include "support/field.hpp"

namespace fourfold::inline schedule::inline program {
namespace {

using Options = StepOptions;

Field<Options> overlap(FieldFacts facts, const char* word, bool Overlap::*member) {
  facts.flag = "--overlap";
  return on_off_field<Options>(
      std::move(facts),
      {word}, [member](auto& options) -> auto& { return options.overlap.*member; });
}

// What is said is the precision in which gradients are reduced, which fp32 throughout decides.
Field<Options> reduction(FieldFacts facts, std::vector<Precision> choices,
                         Precision Options::*member, Precision (Options::*effective)() const) {
  facts.numbers = true;
  Field<Options> field = word_field<Options>(std::move(facts), std::move(choices), member);
  field.get = [effective](const Options& options) -> std::optional<FieldValue> {
    return std::string(name((options.*effective)()));
  };
  return field;
}

// Of a type that reads and writes its own text.
template <typename Text>
Field<Options> text_field(FieldFacts facts, Text Options::*member) {
  facts.kind = FreeText{};
  facts.optional = true;
  return {std::move(facts),
          [member](const Options& options) -> std::optional<FieldValue> {
            return (options.*member).str();
          },
          [member](Options& options, const FieldValue& value) {
            options.*member = Text::parse(std::get<std::string>(value));
          }};
}

std::vector<Field<Options>> rows() {
  return {
      number_field<Options>({.key = "micro_batches",
                             .flag = "--micro-batches",
                             .help = "parts of the batch, one after the other, their gradients "
                                     "summed"},
                            {}, &Options::micro_batches),
      word_field<Options>(
          {.key = "precision",
           .flag = "--precision",
           .help = "of weights and activations, stored and sent; with bf16, sums and master "
                   "weights are fp32",
           .numbers = true},
          std::vector{Precision::bf16, Precision::fp32}, &Options::precision),
      word_field<Options>(
          {.key = "products",
           .flag = "--products",
           .help = "factors of the products of blocks: as stored, or cast to 8 bits with one scale "
                   "a matrix, of past steps or its own, or one for each 32 elements",
           .numbers = true,
           .optional = true},
          std::vector{ProductPrecision::stored, ProductPrecision::fp8_delayed,
                      ProductPrecision::fp8_current, ProductPrecision::mxfp8},
          &Options::products),
      word_field<Options>({.key = "recompute",
                           .flag = "--recompute",
                           .help = "activation checkpointing, which repeats each block's forward "
                                   "pass in backward, or selectively only the scores and softmax "
                                   "of unfused attention (of a fused one nothing: as none), or of "
                                   "each block the MLP, or the norms before products"},
                          std::vector{Recompute::full, Recompute::none, Recompute::selective,
                                      Recompute::mlp, Recompute::norms},
                          &Options::recompute),
      number_field<Options>({.key = "recompute_every",
                             .flag = "--recompute-every",
                             .help = "recompute the last of every so many layers of a stage, or of "
                                     "a chunk of it",
                             .optional = true},
                            {}, &Options::recompute_every),
      number_field<Options>({.key = "recompute_layers",
                             .flag = "--recompute-layers",
                             .help = "recompute only the first so many layers of a stage, or of a "
                                     "chunk of it; 0: all",
                             .optional = true},
                            {.least = 0}, &Options::recompute_layers),
      word_field<Options>({.key = "attention",
                           .flag = "--attention",
                           .help = "in one kernel that keeps no scores, or as products and a "
                                   "softmax whose probabilities are kept",
                           .numbers = true,
                           .optional = true},
                          std::vector{AttentionKernel::fused, AttentionKernel::unfused},
                          &Options::attention),
      overlap(
          {.key = "overlap.all_reduce", .help = "backward all-reduces beside the weight gradients"},
          "oar", &Overlap::all_reduce),
      overlap({.key = "overlap.reduce_scatter",
               .help = "gradient reduce-scatters beside the backward pass"},
              "ors", &Overlap::reduce_scatter),
      overlap(
          {.key = "overlap.all_gather", .help = "the next layer's weight gather beside this layer"},
          "oag", &Overlap::all_gather),
      overlap({.key = "overlap.recompute_gather", .help = "that also in recompute"}, "recompute",
              &Overlap::recompute_gather),
      overlap({.key = "overlap.across_blocks",
               .help = "that of a recomputed block's first product beside the block before",
               .optional = true},
              "across", &Overlap::across_blocks),
      overlap({.key = "overlap.messages",
               .help = "receives between stages posted ahead, sends waited for at the next one",
               .optional = true},
              "messages", &Overlap::messages),
      number_field<Options>({.key = "in_flight_blocks",
                             .flag = "--in-flight-blocks",
                             .help = "blocks whose reduce-scatters may be in flight"},
                            {.most = most_in_flight_blocks}, &Options::in_flight_blocks),
      word_field<Options>(
          {.key = "weight_gather",
           .flag = "--weight-gather",
           .help = "gather weights along z anew for every micro-batch, for each "
                   "of its passes, or once"},
          std::vector{WeightGather::per_micro_batch, WeightGather::per_pass, WeightGather::keep},
          &Options::weight_gather),
      word_field<Options>(
          {.key = "gradient_reduction",
           .flag = "--gradient-reduction",
           .help = "reduce-scatter along z per micro-batch, or sum locally first"},
          std::vector{GradientReduction::per_micro_batch, GradientReduction::accumulated},
          &Options::gradient_reduction),
      word_field<Options>(
          {.key = "data_reduction",
           .flag = "--data-reduction",
           .help = "all-reduce along data at the end, or block by block"},
          std::vector{DataReduction::after_backward, DataReduction::beside_backward},
          &Options::data_reduction),
      word_field<Options>({.key = "order",
                           .flag = "--order",
                           .help = "of micro-batches on the stages of a pipeline",
                           .optional = true},
                          all_pipeline_orders(), &Options::order),
      number_field<Options>({.key = "chunks",
                             .flag = "--chunks",
                             .help = "of layers on each stage, for the interleaved order",
                             .optional = true},
                            {}, &Options::chunks),
      text_field({.key = "layers_per_stage",
                  .flag = "--layers-per-stage",
                  .help = "of each stage of a pipeline, or of each chunk in the order of the "
                          "model, such as 15,14x16,15; else as evenly as it goes, the rest "
                          "in the middle"},
                 &Options::layers_per_stage),
      number_field<Options>({.key = "pipeline_limit",
                             .flag = "--pipeline-limit",
                             .help = "micro-batches in flight in the message-driven order; 0: as "
                                     "many as there are stages",
                             .optional = true},
                            {.least = 0}, &Options::pipeline_limit),
      number_field<Options>({.key = "zero",
                             .flag = "--zero",
                             .help = "ZeRO stage: optimizer state (1), gradients (2) and weights "
                                     "(3) cut along data",
                             .optional = true},
                            {.least = 0, .most = 3}, &Options::zero),
      number_field<Options>({.key = "offload_bucket",
                             .flag = "--offload-bucket",
                             .help = "optimizer state in the host's memory, updated on the device "
                                     "in buckets of so many elements; 0: all on the device",
                             .optional = true},
                            {.least = 0, .most = most_in_bucket}, &Options::offload_bucket),
      on_off_field<Options>({.key = "offload_activations",
                             .flag = "--offload-activations",
                             .help = "with recompute full, the inputs of recomputed blocks in the "
                                     "host's memory from their forward to their backward",
                             .optional = true},
                            {}, &Options::offload_activations),
      on_off_field<Options>({.key = "sequence_parallel",
                             .flag = "--sequence-parallel",
                             .help = "tokens between blocks cut by x as well",
                             .optional = true},
                            {}, &Options::sequence_parallel),
      on_off_field<Options>(
          {.key = "cut_messages",
           .flag = "--cut-messages",
           .help = "messages between stages sent in parts by the devices along x, "
                   "gathered on arrival",
           .optional = true},
          {}, &Options::cut_messages),
      number_field<Options>({.key = "data_bucket",
                             .flag = "--data-bucket",
                             .help = "gradients reduced and updated weights gathered along data in "
                                     "buckets of so many elements of the model; 0: block by block, "
                                     "and what ZeRO cuts weight by weight",
                             .optional = true},
                            {.least = 0, .most = most_in_bucket}, &Options::data_bucket),
      number_field<Options>({.key = "data_bucket_each",
                             .flag = "--data-bucket-each",
                             .help = "of a device, for each member of its group along data, at "
                                     "least so many elements in such a bucket; 0: says nothing",
                             .optional = true},
                            {.least = 0, .most = most_in_bucket}, &Options::data_bucket_each),
      number_field<Options>(
          {.key = "pad_vocabulary",
           .flag = "--pad-vocabulary",
           .help = "on each device along x, columns of the vocabulary filled up to "
                   "a whole number of so many; 0: as they are",
           .optional = true},
          {.least = 0, .most = most_padding}, &Options::pad_vocabulary),
      text_field({.key = "rank_order",
                  .flag = "--rank-order",
                  .help = "axes, neighbours on the machine first, such as x,y,z,pipe,data"},
                 &Options::rank_order),
      word_field<Options>({.key = "weight_gather_precision",
                           .flag = "--weight-gather-precision",
                           .help = "of weights gathered along z; fp32: the masters, narrowed then",
                           .optional = true},
                          std::vector{Precision::bf16, Precision::fp32},
                          &Options::weight_gather_precision),
      reduction({.key = "grad_reduce_precision_z",
                 .flag = "--grad-precision-z",
                 .help = "of the reduction along z, unless all is fp32"},
                {Precision::bf16, Precision::fp32}, &Options::grad_reduce_precision_z,
                &Options::reduce_precision_z),
      reduction({.key = "grad_reduce_precision_data",
                 .flag = "--grad-precision-data",
                 .help = "of the reduction along data, unless all is fp32"},
                {Precision::fp32, Precision::bf16}, &Options::grad_reduce_precision_data,
                &Options::reduce_precision_data)};
}

}  // namespace

const FieldTable<StepOptions>& step_fields() {
  static const FieldTable<StepOptions> table(rows());
  return table;
}

}  // namespace fourfold::inline schedule::inline program
