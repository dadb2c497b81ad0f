// Words and fields of a model; see model.hpp.
#include "schedule/models/model.hpp"

#include "schedule/models/layer_pattern.hpp"
#include "support/field.hpp"
#include "support/prose.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

constexpr const char* counted = "so that 64 bits count every byte of a step";

// Says nothing where the block is GPT's, so that records of GPTs stay what they were.
template <typename Differs>
Field<Model> said_if(Field<Model> field, const Differs& differs) {
  field.facts.optional = true;
  field.get = [get = field.get, differs](const Model& model) {
    return differs(model) ? get(model) : std::nullopt;
  };
  return field;
}

bool is_rms(const Model& m) {
  return m.norm == NormKind::rms;
}
bool is_rotary(const Model& m) {
  return m.position == PositionKind::rotary;
}
bool is_scaled(const Model& m) {
  return is_rotary(m) && m.rotary.scaling != 1.0;
}
bool shares_keys(const Model& m) {
  return m.kv_heads() != m.heads;
}
bool has_own_head_size(const Model& m) {
  return m.head_size != 0 && m.attention_columns() != m.hidden;
}
bool is_swiglu(const Model& m) {
  return m.mlp == MlpKind::swiglu;
}
bool has_own_width(const Model& m) {
  return m.width() != 4 * m.hidden;
}

std::vector<Field<Model>> block_rows() {
  using M = Model;
  const RealNumber scale{1e-3, 1e9};
  const WholeNumber columns{.most = most_hidden, .reason = counted};
  return {
      said_if(word_field<M>({.key = "norm", .help = "before attention, the MLP and the head"},
                            std::vector{NormKind::layer, NormKind::rms}, &M::norm),
              is_rms),
      said_if(real_field<M>({.key = "norm_epsilon", .help = "added to the variance"}, {1e-12, 1.0},
                            &M::norm_epsilon),
              [](const M& m) { return m.norm_epsilon != M().norm_epsilon; }),
      said_if(word_field<M>({.key = "position", .help = "what tells tokens' places apart"},
                            std::vector{PositionKind::learned, PositionKind::rotary}, &M::position),
              is_rotary),
      said_if(real_field<M>(
                  {.key = "rotary_base", .help = "theta of rotary positions"}, {1.0, 1e12},
                  [](auto& m) -> auto& { return m.rotary.base; }),
              [](const M& m) { return is_rotary(m) && m.rotary.base != M().rotary.base; }),
      said_if(
          real_field<M>(
              {.key = "rotary_scaling", .help = "how much slower low frequencies turn (Llama 3.1)"},
              scale, [](auto& m) -> auto& { return m.rotary.scaling; }),
          is_scaled),
      said_if(real_field<M>(
                  {.key = "rotary_low",
                   .help = "turns in the trained tokens below which "
                           "a frequency is scaled"},
                  scale, [](auto& m) -> auto& { return m.rotary.low; }),
              is_scaled),
      said_if(real_field<M>(
                  {.key = "rotary_high",
                   .help = "turns in the trained tokens above which "
                           "a frequency is left"},
                  scale, [](auto& m) -> auto& { return m.rotary.high; }),
              is_scaled),
      said_if(number_field<M>(
                  {.key = "rotary_trained_tokens",
                   .help = "tokens that were trained before the scaling"},
                  {.most = most_sequence, .reason = counted},
                  [](auto& m) -> auto& { return m.rotary.trained_tokens; }),
              is_scaled),
      said_if(number_field<M>({.key = "key_value_heads",
                               .help = "heads of keys and values, each "
                                       "for as many heads of queries"},
                              columns, &M::key_value_heads),
              shares_keys),
      said_if(number_field<M>({.key = "head_size", .help = "columns of a head"}, columns,
                              &M::head_size),
              has_own_head_size),
      said_if(word_field<M>({.key = "mlp", .help = "what stands between up and down"},
                            std::vector{MlpKind::gelu, MlpKind::swiglu}, &M::mlp),
              is_swiglu),
      said_if(number_field<M>({.key = "mlp_width", .help = "columns between up and down"}, columns,
                              &M::mlp_width),
              has_own_width),
      said_if(on_off_field<M>({.key = "biases", .help = "of the four products"}, {}, &M::biases),
              [](const M& m) { return !m.biases; }),
      said_if(
          word_field<M>({.key = "embeddings",
                         .help = "whether words come in and go out by one "
                                 "table"},
                        std::vector{EmbeddingsKind::tied, EmbeddingsKind::untied}, &M::embeddings),
          [](const M& m) { return !m.tied(); }),
      said_if(word_field<M>({.key = "residual",
                             .help = "whether the MLP reads what attention made, "
                                     "or what it read"},
                            std::vector{ResidualKind::sequential, ResidualKind::parallel},
                            &M::residual),
              [](const M& m) { return m.residual == ResidualKind::parallel; }),
      said_if(word_field<M>({.key = "norm_place",
                             .help = "whether norms stand before attention and the MLP, after "
                                     "them, or both"},
                            std::vector{NormPlace::before, NormPlace::after, NormPlace::both},
                            &M::norm_place),
              [](const M& m) { return m.norm_place != NormPlace::before; }),
      said_if(word_field<M>({.key = "query_key_norm",
                             .help = "RMS norms of queries and keys: none, of each of the heads, "
                                     "or over all"},
                            std::vector{QueryKeyNormKind::none, QueryKeyNormKind::heads,
                                        QueryKeyNormKind::all},
                            &M::query_key_norm),
              [](const M& m) { return m.query_key_norm != QueryKeyNormKind::none; }),
      said_if(text_field<M>({.key = "layer_pattern",
                             .help = "kinds of layers that repeat, as in \"attention "
                                     "window_tokens=4096, attention\""},
                            &M::layer_pattern),
              [](const M& m) { return !m.layer_pattern.empty(); })};
}

std::vector<Field<Model>> rows() {
  std::vector<Field<Model>> fields{
      number_field<Model>(
          {.key = "layers", .help = "transformer blocks"},
          {.most = most_layers,
           .reason = "as every operation of every layer is written down, 0.1 MB a layer"},
          &Model::layers),
      number_field<Model>({.key = "hidden", .help = "width; divides by `heads`"},
                          {.most = most_hidden, .reason = counted}, &Model::hidden),
      number_field<Model>({.key = "heads", .help = "attention heads"},
                          {.most = most_hidden, .reason = "as each has a column at least"},
                          &Model::heads),
      number_field<Model>(
          {.key = "sequence_tokens", .flag = "--sequence", .help = "tokens of a sequence"},
          {.most = most_sequence, .reason = counted}, &Model::sequence),
      number_field<Model>({.key = "vocabulary",
                           .flag = "--vocabulary",
                           .help = "entries of the embedding, padded as in training"},
                          {.most = most_vocabulary, .reason = counted}, &Model::vocabulary)};
  for (Field<Model>& field : block_rows()) fields.push_back(std::move(field));
  return fields;
}

std::vector<Field<Model>> record_rows() {
  std::vector<Field<Model>> fields = rows();
  for (Field<Model>& field : fields) {
    if (field.facts.key == "sequence_tokens") field.facts.key = "sequence";
  }
  fields.push_back(text_field<Model>({.key = "name", .help = "of the file"}, &Model::name));
  return fields;
}

}  // namespace

const FieldTable<Model>& model_fields() {
  static const FieldTable<Model> table(rows());
  return table;
}

const FieldTable<Model>& model_record_fields() {
  static const FieldTable<Model> table(record_rows());
  return table;
}

std::string excess(const Model& model) {
  return out_of_range(model_fields().facts(), model_fields().values(model));
}

const char* name(NormKind kind) {
  return kind == NormKind::rms ? "rms" : "layer";
}
const char* name(PositionKind kind) {
  return kind == PositionKind::rotary ? "rotary" : "learned";
}
const char* name(MlpKind kind) {
  return kind == MlpKind::swiglu ? "swiglu" : "gelu";
}
const char* name(EmbeddingsKind kind) {
  return kind == EmbeddingsKind::untied ? "untied" : "tied";
}
const char* name(ResidualKind kind) {
  return kind == ResidualKind::parallel ? "parallel" : "sequential";
}

const char* name(NormPlace place) {
  constexpr const char* names[]{"before", "after", "both"};
  return names[static_cast<int>(place)];
}
const char* name(QueryKeyNormKind kind) {
  constexpr const char* names[]{"none", "heads", "all"};
  return names[static_cast<int>(kind)];
}

std::string block_shape(const Model& model) {
  std::string text;
  const auto say = [&text](bool differs, const std::string& what) {
    if (!differs) return;
    if (!text.empty()) text += ", ";
    text += what;
  };
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  say(is_rms(model), "RMS norm");
  say(is_rotary(model), is_scaled(model) ? "scaled rotary positions" : "rotary positions");
  say(shares_keys(model), number(model.kv_heads()) + " key-value heads");
  say(has_own_head_size(model), "heads of " + number(model.head_columns()));
  say(is_swiglu(model), "SwiGLU of " + number(model.width()));
  say(!is_swiglu(model) && has_own_width(model), "MLP of " + number(model.width()));
  say(!model.biases, "no biases");
  say(!model.tied(), "untied embeddings");
  say(model.residual == ResidualKind::parallel, "parallel residual");
  say(model.norm_place == NormPlace::after, "norms after attention and the MLP");
  say(model.norm_place == NormPlace::both, "norms before and after attention and the MLP");
  say(model.query_key_norm == QueryKeyNormKind::heads, "norms of each head's queries and keys");
  say(model.query_key_norm == QueryKeyNormKind::all, "norms of all queries and of all keys");
  say(!model.layer_pattern.empty(), "layers " + model.layer_pattern);
  return text;
}

std::string contradiction(const Model& model) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  if (model.heads < 1 || (model.head_size == 0 && model.hidden % model.heads != 0)) {
    return "hidden = " + number(model.hidden) + " does not divide into " + number(model.heads) +
           " heads";
  }
  if (model.heads % model.kv_heads() != 0) {
    return number(model.heads) + " heads of queries do not divide among " +
           number(model.kv_heads()) + " heads of keys and values; key_value_heads must be a " +
           "divisor of heads";
  }
  if (model.heads * model.head_columns() > most_hidden) {
    return number(model.heads) + " heads of " + number(model.head_columns()) +
           " columns have more than " + number(most_hidden) +
           " together, which is more than is counted";
  }
  if (is_rotary(model) && model.head_columns() % 2 != 0) {
    return "rotary positions turn pairs of columns, and heads of " + number(model.head_columns()) +
           " columns are odd; give an even head_size";
  }
  if (is_scaled(model) && model.rotary.low >= model.rotary.high) {
    return "rotary_low must be less than rotary_high";
  }
  if (model.residual == ResidualKind::parallel && model.norm_place != NormPlace::before) {
    return std::string("norm_place = \"") + name(model.norm_place) +
           "\" needs residual = \"sequential\", as a parallel one adds attention and the MLP "
           "before anything else";
  }
  return pattern_fault(model.layer_pattern);
}

std::string described(const Model& model) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const std::string shape = block_shape(model);
  return model.name + " (" + number(model.layers) + " layers, hidden " + number(model.hidden) +
         ", " + number(model.heads) + " heads, " + number(model.sequence) + " tokens, vocabulary " +
         number(model.vocabulary) + (shape.empty() ? "" : ", ") + shape + ")";
}

}  // namespace fourfold::inline schedule::inline models
