// A model as numbers and the shape of its block, and its table of fields.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/program/step_options.hpp"

namespace fourfold::inline support {
template <typename T>
class FieldTable;
}  // namespace fourfold::inline support

namespace fourfold::inline schedule::inline models {

enum class NormKind : std::uint8_t { layer, rms };
enum class PositionKind : std::uint8_t { learned, rotary };
enum class MlpKind : std::uint8_t { gelu, swiglu };
enum class EmbeddingsKind : std::uint8_t { tied, untied };
enum class ResidualKind : std::uint8_t { sequential, parallel };
enum class NormPlace : std::uint8_t { before, after, both };  // of attention, and of the MLP
enum class QueryKeyNormKind : std::uint8_t { none, heads, all };
const char* name(NormKind kind);
const char* name(PositionKind kind);
const char* name(MlpKind kind);
const char* name(EmbeddingsKind kind);
const char* name(ResidualKind kind);
const char* name(NormPlace place);
const char* name(QueryKeyNormKind kind);

// Rotary positions (Su et al., arXiv:2104.09864): columns i and i + d/2 of a head of d turn by
// position x base^(-2i/d). Llama 3.1 slows frequencies of more than trained_tokens / low tokens a
// turn by the scaling, leaves those of less than trained_tokens / high, and blends between.
struct Rotary {
  double base = 10'000.0;
  double scaling = 1.0;  // none
  double low = 1.0, high = 4.0;
  std::int64_t trained_tokens = 8192;

  bool operator==(const Rotary&) const = default;
};

// Without a word on the block it is GPT's: what follows `vocabulary`.
struct Model {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t sequence = 2048;      // tokens
  std::int64_t vocabulary = 51'200;  // the true one; a step may pad it
  NormKind norm = NormKind::layer;
  double norm_epsilon = 1e-5;  // GPT-2's
  PositionKind position = PositionKind::learned;
  Rotary rotary{};
  std::int64_t key_value_heads = 0;  // 0: as many as heads
  std::int64_t head_size = 0;        // columns of a head; 0: hidden / heads
  MlpKind mlp = MlpKind::gelu;
  std::int64_t mlp_width = 0;  // columns between up and down; 0: 4 hidden
  bool biases = true;          // of the four products
  EmbeddingsKind embeddings = EmbeddingsKind::tied;
  ResidualKind residual = ResidualKind::sequential;  // parallel: the MLP reads the block's input
  NormPlace norm_place = NormPlace::before;          // after: of what joins the residual stream
  QueryKeyNormKind query_key_norm = QueryKeyNormKind::none;  // RMS norms behind QKV
  std::string layer_pattern{};  // kinds of layers (layer_pattern.hpp) that repeat; empty: all alike

  // What 0 stands for.
  std::int64_t kv_heads() const { return key_value_heads == 0 ? heads : key_value_heads; }
  std::int64_t head_columns() const { return head_size == 0 ? hidden / heads : head_size; }
  std::int64_t width() const { return mlp_width == 0 ? 4 * hidden : mlp_width; }
  // Heads of queries that share a head of keys and values.
  std::int64_t group() const { return heads / kv_heads(); }
  std::int64_t attention_columns() const { return heads * head_columns(); }
  // Queries, key and value of each group stand side by side.
  std::int64_t qkv_columns() const { return (heads + 2 * kv_heads()) * head_columns(); }
  // Of SwiGLU gate and value stand side by side, column by column.
  std::int64_t up_columns() const { return mlp == MlpKind::swiglu ? 2 * width() : width(); }
  bool tied() const { return embeddings == EmbeddingsKind::tied; }
};

// How the block differs from GPT's: "RMS norm, rotary positions, 8 key-value heads, SwiGLU of
// 14336, no biases, untied embeddings"; empty if it does not.
std::string block_shape(const Model& model);
// Why there can be no such block, as a sentence without its end; empty if there can.
std::string contradiction(const Model& model);
// "gpt-tiny (2 layers, hidden 32, 4 heads, 16 tokens, vocabulary 61)", and the block's shape.
std::string described(const Model& model);

// The largest that can be counted. A step records every operation of every layer, about 0.1 MB a
// layer; tokens of a batch x vocabulary x 4 bytes, the largest product, stay below 2^63.
inline constexpr std::int64_t most_layers = 10'000;
inline constexpr std::int64_t most_hidden = std::int64_t{1} << 20;
inline constexpr std::int64_t most_sequence = std::int64_t{1} << 24;    // tokens
inline constexpr std::int64_t most_vocabulary = std::int64_t{1} << 24;  // 16.8 million entries
inline constexpr std::int64_t most_batch_tokens = std::int64_t{1} << 36;

// What a model file says: numbers, each with its bounds, and of the block what differs from GPT's.
// Records and checkpoints say the name as well, and the sequence without its unit. A new field is a
// member above, a row there, and its line in docs/campaigns.md.
const FieldTable<Model>& model_fields();
const FieldTable<Model>& model_record_fields();

// Why the model is too large to be counted, as in "layers = 20000, but at most ..."; empty if it is
// not.
std::string excess(const Model& model);

}  // namespace fourfold::inline schedule::inline models
