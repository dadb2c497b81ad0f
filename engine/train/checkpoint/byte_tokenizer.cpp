// GPT-2's letters for bytes, one word each; see byte_tokenizer.hpp.
#include "engine/train/checkpoint/byte_tokenizer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

using Json = nlohmann::ordered_json;

// Bytes that stand for themselves as letters of Latin-1: those that can be seen.
bool is_seen(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
}

// Below U+0800.
std::string utf8(int letter) {
  if (letter < 0x80) return {static_cast<char>(letter)};
  return {static_cast<char>(0xC0 | letter >> 6), static_cast<char>(0x80 | (letter & 0x3F))};
}

// The others stand in their order for the letters from U+0100 on.
Json vocabulary(std::int64_t words) {
  Json all = Json::object();
  int next = 0x100;
  for (int byte = 0; byte < std::min<std::int64_t>(words, 256); ++byte) {
    all[utf8(is_seen(byte) ? byte : next++)] = byte;
  }
  return all;
}

}  // namespace

CarriedFiles byte_tokenizer(const Model& model) {
  const Json bytes{{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", false},
                   {"use_regex", false}};
  const Json tokenizer{{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", Json::array()},
                       {"normalizer", nullptr},
                       {"pre_tokenizer", bytes},
                       {"post_processor", nullptr},
                       {"decoder", bytes},
                       {"model",
                        {{"type", "BPE"},
                         {"dropout", nullptr},
                         {"unk_token", nullptr},
                         {"continuing_subword_prefix", nullptr},
                         {"end_of_word_suffix", nullptr},
                         {"fuse_unk", false},
                         {"byte_fallback", false},
                         {"vocab", vocabulary(model.vocabulary)},
                         {"merges", Json::array()}}}};
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"clean_up_tokenization_spaces", false},
                    {"model_max_length", model.sequence}};
  return {{"tokenizer.json", tokenizer.dump(2) + "\n"},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

std::string generation_with_end_word(std::optional<std::int64_t> word) {
  Json generation{{"_from_model_config", true}, {"eos_token_id", nullptr}};
  if (word) generation["eos_token_id"] = *word;
  return generation.dump(2) + "\n";
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
