// The table of words; see trade_words.hpp.
#include "support/trade_words.hpp"

namespace fourfold::inline support {

const std::vector<TradeWords>& trade_words() {
  static const std::vector<TradeWords> table{
      // Flags of Megatron-LM, DeepSpeed, torchtitan, Hugging Face and others.
      {{"gpus", "num-gpus", "ngpus", "gpu-count", "gcds", "accelerators", "world-size", "nproc",
        "nproc-per-node", "num-devices", "num-processes"},
       {"--devices", "--ranks"}},
      {{"nnodes", "num-nodes"}, {"--nodes", "--devices"}},
      {{"tp", "tp-size", "tensor", "tensor-parallel", "tensor-parallel-size",
        "tensor-parallel-degree", "tensor-model-parallel-size", "model-parallel-size", "mp-size"},
       {"--grid tp=N"}},
      {{"pp", "pp-size", "pipeline-parallel", "pipeline-parallel-size", "pipeline-parallel-degree",
        "pipeline-model-parallel-size", "num-stages"},
       {"--grid pp=N"}},
      {{"dp", "dp-size", "ddp", "data-parallel", "data-parallel-size", "data-parallel-replicate"},
       {"--grid dp=N"}},
      {{"fsdp", "fsdp-size", "hsdp", "full-shard", "data-parallel-shard-degree"},
       {"--grid fsdp=N"}},
      {{"cp", "cp-size", "context-parallel", "context-parallel-size", "context-parallel-degree"},
       {"--grid"},
       "there is no context parallelism here: sequences stay whole"},
      {{"ep", "ep-size", "expert-parallel", "expert-model-parallel-size", "num-experts"},
       {"--grid"},
       "there are no experts here: blocks are dense"},
      {{"mbs", "micro-batch", "local-batch-size", "per-device-train-batch-size",
        "train-micro-batch-size-per-gpu"},
       {"--micro-batch-size", "--micro-batches"}},
      {{"gbs", "batch", "batch-size", "train-batch-size", "global-batch", "global-batch-size"},
       {"--global-batch-size", "--batch"}},
      {{"seq-len", "seq-length", "sequence-length", "context-length", "max-seq-len",
        "max-position-embeddings", "block-size"},
       {"--sequence"}},
      {{"gradient-accumulation-steps", "grad-accumulation", "accumulation-steps",
        "num-microbatches"},
       {"--micro-batches"}},
      {{"vocab", "vocab-size", "padded-vocab-size"}, {"--vocabulary"}},
      {{"dtype", "bf16", "fp16", "fp32", "mixed-precision"}, {"--precision"}},
      {{"activation-checkpointing", "gradient-checkpointing", "checkpoint-activations",
        "recompute-activations", "recompute-granularity", "ac-mode"},
       {"--recompute"}},
      {{"flash-attention", "use-flash-attn", "flash-attn", "attention-backend"}, {"--attention"}},
      {{"zero-stage", "zero-optimization", "use-distributed-optimizer", "distributed-optimizer"},
       {"--zero"}},
      {{"cpu-offload", "optimizer-offload", "offload-optimizer", "optimizer-cpu-offload"},
       {"--offload-bucket"}},
      {{"activation-offloading", "enable-activation-offloading", "offload-checkpoint",
        "cpu-checkpointing", "checkpoint-in-cpu"},
       {"--offload-activations"}},
      {{"sp", "sequence-parallelism"}, {"--sequence-parallel"}},
      {{"vpp", "virtual-stages", "num-layers-per-virtual-pipeline-stage"}, {"--chunks"}},
      {{"schedule", "pipeline-schedule"}, {"--order"}},
      {{"decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers",
        "account-for-embedding-in-pipeline-split"},
       {"--layers-per-stage"}},
      {{"recompute-num-layers"}, {"--recompute-layers"}},
      {{"recompute-modules"}, {"--recompute"}},
      {{"machine", "cluster", "hardware", "gpu-type"}, {"--platform"}},
      {{"framework"}, {"--system"}},
      {{"train-tokens", "total-tokens", "num-tokens"}, {"--tokens"}},
      {{"lr"}, {"--learning-rate"}},
      {{"min-lr"}, {"--last-learning-rate"}},
      {{"warmup", "warmup-steps", "lr-warmup-iters"}, {"--warm-up"}},
      {{"grad-clip", "clip-grad", "max-grad-norm"}, {"--clip"}},
      {{"train-iters", "max-iters", "max-steps", "iterations"}, {"--steps"}},
      {{"save-interval"}, {"--checkpoint-every"}},
      {{"eval-interval"}, {"--validate-every"}},
      // Machines by a device that their titles do not name.
      {{"pvc", "ponte-vecchio"}, {"aurora"}},
      // Models.
      {{"gpt2", "gpt2-small"}, {"gpt2-124m"}},
      {{"gpt2-medium"}, {"gpt2-355m"}},
      {{"gpt2-large"}, {"gpt2-774m"}},
      {{"gpt2-xl", "gpt2-1.5b"}, {"gpt2-1558m"}},
      {{"mt-nlg", "megatron-turing"}, {"gpt-530b"}},
      // Systems and what is trained with.
      {{"axonn"}, {"axonn-4d"}},
      {{"megatron-lm", "mcore", "nemo", "megatron-bridge"}, {"megatron-core"}},
      {{"fsdp", "fsdp2"}, {"pytorch-fsdp"}},
      {{"fsdp-compiled"}, {"pytorch-fsdp-compiled"}},
      // Words of options.
      {{"fp16", "half", "float16", "bfloat16"}, {"bf16"}},
      {{"float32", "single"}, {"fp32"}},
      {{"tf32"}, {"fp32"}, "TF32 is not priced: fp32 is computed at the machine's own rate of it"},
      {{"flash", "flash-attention", "sdpa"}, {"fused"}},
      {{"eager"}, {"unfused"}},
      {{"afab"}, {"gpipe"}},
      {{"vpp", "virtual"}, {"interleaved"}},
      {{"zb", "zb-h1"}, {"zero-bubble"}},
  };
  return table;
}

std::string bare_word(const std::string& word) {
  std::string bare;
  for (char letter : word) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) bare += letter;
  }
  return bare;
}

}  // namespace fourfold::inline support
