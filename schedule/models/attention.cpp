// Forward and backward of attention; see attention.hpp.
#include "schedule/models/attention.hpp"

namespace fourfold::inline schedule::inline models {

Id Attention::probabilities(const Recording& in, Id qkv) const {
  const Id scores = in.r.apply(stored(in, functions::scores, "scores"), {qkv});
  return in.r.map(stored(in, functions::causal_softmax, "probabilities"), {scores});
}

// Each micro-batch has sequences of its own.
Label Attention::cache_of(const Recording& in) const {
  const bool one = in.options.micro_batches == 1;
  return label_ + (one ? "cache" : "cache." + std::to_string(in.turn.micro_batch));
}

Id Attention::with_cache(const Recording& in, Id qkv) const {
  Recorder& r = in.r;
  switch (row_of(in.options.phase).cache) {
    case Cache::none:
      return -1;
    case Cache::written: {
      Result kept = stored(in, functions::keep_keys_and_values, "");
      kept.label = cache_of(in);
      kept.role = Role::cache;
      r.keep(r.apply(kept, {qkv}));
      return -1;
    }
    case Cache::read:
      break;
  }
  const Shape shape = functions::cache_of_sequences(r.value(qkv).shape, attributes_);
  const Id cache = r.data(cache_of(in), shape, r.storage(), Role::cache);
  return r.apply(stored(in, functions::attention_to_cache, "attention"), {qkv, cache});
}

Forward<Attention::Saved> Attention::forward(const Recording& in, Id qkv) const {
  Recorder& r = in.r;
  if (rotary_) {
    Result turned = stored(in, functions::rotary, "rotary");
    turned.attributes.newest = row_of(in.options.phase).one_token;
    qkv = r.map(turned, {qkv});
  }
  Saved saved{qkv, with_cache(in, qkv), -1};
  if (saved.output != -1) return {saved.output, saved};
  if (in.options.attention == AttentionKernel::fused) {
    saved.output = r.apply(stored(in, functions::attention, "attention"), {qkv});
    return {saved.output, saved};
  }
  saved.probabilities = probabilities(in, qkv);
  saved.output = r.apply(stored(in, functions::context, "attention"), {qkv, saved.probabilities});
  return {saved.output, saved};
}

Id Attention::backward(const Recording& in, const Saved& saved, Id gradient) const {
  const Id turned = backward_of_products(in, saved, gradient);
  if (!rotary_) return turned;
  return in.r.map(stored(in, functions::rotary_backward, "drotary"), {turned});
}

Id Attention::backward_of_products(const Recording& in, const Saved& saved, Id gradient) const {
  Recorder& r = in.r;
  if (in.options.attention == AttentionKernel::fused) {
    return r.apply(stored(in, functions::attention_backward, "dattention"),
                   {gradient, saved.qkv, saved.output});
  }
  // The context is kept as the projection's input, so that its product need not be repeated.
  const Id known = in.options.recompute == Recompute::selective ? probabilities(in, saved.qkv)
                                                                : saved.probabilities;
  const Id of_probabilities =
      r.apply(stored(in, functions::context_backward, "dprobabilities"), {gradient, saved.qkv});
  const Id of_scores =
      r.map(stored(in, functions::causal_softmax_backward, "dscores"), {of_probabilities, known});
  return r.apply(stored(in, functions::qkv_backward, "dattention"),
                 {gradient, saved.qkv, known, of_scores});
}

}  // namespace fourfold::inline schedule::inline models
