// The published formulas about a GPT model; see model.hpp.
#include "schedule/models/model.hpp"

#include "support/field.hpp"

namespace fourfold {

namespace {

constexpr const char* counted = "so that 64 bits count every byte of a step";

std::vector<Field<Model>> rows() {
  return {number_field<Model>(
              {.key = "layers", .help = "transformer blocks"},
              {.most = most_layers,
               .reason = "as every operation of every layer is written down, 0.1 MB a layer"},
              &Model::layers),
          number_field<Model>({.key = "hidden", .help = "width; divides by `heads`"},
                              {.most = most_hidden, .reason = counted}, &Model::hidden),
          number_field<Model>({.key = "heads", .help = "attention heads"},
                              {.most = most_hidden, .reason = "as each has a column at least"},
                              &Model::heads),
          number_field<Model>({.key = "sequence_tokens", .help = "tokens of a sequence"},
                              {.most = most_sequence, .reason = counted}, &Model::sequence),
          number_field<Model>({.key = "vocabulary",
                               .flag = "--vocabulary",
                               .help = "entries of the embedding, padded as in training"},
                              {.most = most_vocabulary, .reason = counted}, &Model::vocabulary)};
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

double parameter_count(const Model& model) {
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto v = static_cast<double>(model.vocabulary);
  const auto s = static_cast<double>(model.sequence);
  return 12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h));
}

Flops model_flops(const Model& model, std::int64_t sequences, Recompute recompute) {
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto v = static_cast<double>(model.vocabulary);
  const auto s = static_cast<double>(model.sequence);
  const auto b = static_cast<double>(sequences);
  const bool full = recompute == Recompute::full;
  const double passes = full ? 96 : 72;
  const double head = v / ((full ? 16 : 12) * l * h);
  return {passes * b * s * l * h * h * (1 + s / (6 * h) + head)};
}

std::string model_flops_convention(Recompute recompute) {
  return recompute == Recompute::full ? "Narayanan et al. SC21 eq. 3, recompute counted"
                                      : "Narayanan et al. SC21 eq. 3, no recompute";
}

}  // namespace fourfold
