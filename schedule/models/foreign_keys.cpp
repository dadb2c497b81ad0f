// Keys of config.json files; see foreign_keys.hpp.
#include "schedule/models/foreign_keys.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "support/field.hpp"
#include "support/json_text.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

const nlohmann::json& no_table() {
  static const nlohmann::json empty = nlohmann::json::object();
  return empty;
}

// Of keys that say nothing of a model's block: names, tokens, chance, and how it is run.
constexpr std::array<std::string_view, 6> idle_ends{"dropout",  "_pdrop",        "_token_id",
                                                    "_version", "_dropout_prob", "_token"};
constexpr std::array<std::string_view, 3> idle_starts{"_attn_implementation", "output_",
                                                      "summary_"};
constexpr std::array<std::string_view, 78> idle_keys{
    "_commit_hash",
    "_experts_implementation",
    "_from_model_config",
    "_name_or_path",
    "_num_labels",
    "architectures",
    "attention_softmax_in_fp32",
    "attn_implementation",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bias_dropout_fusion",
    "cache_implementation",
    "chunk_size_feed_forward",
    "cross_attention_hidden_size",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "fourfold_model",
    "gradient_checkpointing",
    "id2label",
    "inference_runner",
    "init_std",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "is_llama_config",
    "label2id",
    "layerdrop",
    "length_penalty",
    "masked_softmax_fusion",
    "max_batch_size",
    "max_length",
    "min_length",
    "model_type",
    "n_ctx",
    "n_routed_experts",
    "name_or_path",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_experts",
    "num_local_experts",
    "num_return_sequences",
    "original_max_position_embeddings",
    "pad_key_length",
    "pre_allocate_kv_cache",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "pruned_heads",
    "remove_invalid_values",
    "reorder_and_upcast_attn",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "scale_attention_softmax_in_fp32",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "typical_p",
    "unsloth_fixed",
    "use_bfloat16",
    "use_cache",
    "validate_runner_input",
};

bool is_idle(const std::string& key) {
  const auto ends = [&](std::string_view end) { return key.ends_with(end); };
  const auto starts = [&](std::string_view start) { return key.starts_with(start); };
  return std::ranges::any_of(idle_ends, ends) || std::ranges::any_of(idle_starts, starts) ||
         std::ranges::find(idle_keys, key) != idle_keys.end();
}

// As a sentence has room for it.
std::string shortened(const nlohmann::json& value) {
  constexpr std::size_t most = 40;
  if (value.is_structured() && !value.empty()) return value.is_array() ? "[...]" : "{...}";
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

}  // namespace

bool ForeignKeys::says(const char* key) const {
  read_.insert(key);
  return config_.contains(key);
}

bool ForeignKeys::has(const char* key) const {
  return says(key) && !config_.at(key).is_null();
}

bool ForeignKeys::is(const char* key, const nlohmann::json& value) const {
  return says(key) && config_.at(key) == value;
}

std::string ForeignKeys::experts() const {
  for (const auto& [key, value] : config_.items()) {
    const bool counts = key.find("expert") != std::string::npos || key.starts_with("moe_");
    if (!counts || !value.is_number() || value < 1) continue;
    if (value > 1 || key.ends_with("_per_tok")) return key;
  }
  return "";
}

const char* ForeignKeys::key(const Keys& keys) const {
  const char* found = nullptr;
  for (const char* key : keys) {
    if (has(key) && found == nullptr) found = key;
  }
  return found == nullptr ? keys.front() : found;
}

ForeignKeys ForeignKeys::table(const char* key) const {
  if (!has(key)) return {no_table(), not_said_};
  if (config_.at(key).is_object()) return {config_.at(key), not_said_};
  throw std::runtime_error(std::string("has ") + key + " " + config_.at(key).dump() +
                           ", which is no table");
}

std::vector<std::string> ForeignKeys::words(const char* key) const {
  if (!has(key)) return {};
  std::vector<std::string> words;
  const nlohmann::json& list = config_.at(key);
  for (const nlohmann::json& word : list.is_array() ? list : nlohmann::json::array({0})) {
    if (!word.is_string()) {
      throw std::runtime_error(std::string("does not say ") + key + " as a list of words");
    }
    words.push_back(word);
  }
  return words;
}

std::int64_t ForeignKeys::number(const Keys& keys) const {
  const char* const known = key(keys);
  const auto number = has(known) ? whole_in(config_.at(known), most_of_anything) : std::nullopt;
  if (number && *number > 0) return *number;
  throw std::runtime_error(std::string("does not say ") + known + " as a whole number");
}

std::int64_t ForeignKeys::number(const Keys& keys, std::int64_t usual) const {
  return has(key(keys)) ? number(keys) : usual;
}

double ForeignKeys::real(const Keys& keys, double usual) const {
  const char* const known = key(keys);
  if (!has(known)) return usual;
  if (config_.at(known).is_number()) return config_.at(known);
  throw std::runtime_error(std::string("does not say ") + known + " as a number");
}

bool ForeignKeys::flag(const char* key, bool usual) const {
  if (!has(key)) return usual;
  if (config_.at(key).is_boolean()) return config_.at(key);
  throw std::runtime_error(std::string("does not say ") + key + " as true or false");
}

std::string ForeignKeys::word(const char* key, const std::string& usual) const {
  if (!has(key)) return usual;
  const std::string word = config_.at(key).is_string() ? config_.at(key).get<std::string>() : "";
  if (!word.empty()) return word;
  throw std::runtime_error(std::string("does not say ") + key + " as a word");
}

void ForeignKeys::expect(const char* key, const nlohmann::json& taken,
                         const nlohmann::json& usual) const {
  const nlohmann::json said = says(key) ? config_.at(key) : usual;
  const bool alike = said.is_number() ? taken.is_number() : said.type() == taken.type();
  if (!alike && !said.is_null() && !taken.is_null()) {
    throw std::runtime_error(std::string("has ") + key + " " + said.dump() + ", and only " +
                             taken.dump() + " is known here");
  }
  if (said.is_null() && !usual.is_null()) return;  // as without it
  if (said != taken) not_said(std::string(key) + " " + said.dump(), taken.dump());
}

void ForeignKeys::not_said(const std::string& what, const std::string& taken,
                           std::int64_t parameters) const {
  not_said_.push_back({what, taken, parameters});
}

void ForeignKeys::list_unread() const {
  for (const auto& [key, value] : config_.items()) {
    if (read_.contains(key) || value.is_null() || is_idle(key)) continue;
    not_said(key + " " + shortened(value), "");
  }
}

}  // namespace fourfold::inline schedule::inline models
