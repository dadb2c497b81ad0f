// Hugging Face's layout: what each entry of a config.json means or is refused with, and which
// tensor holds which elements of ours; word for word.
#include "engine/train/checkpoint/foreign_layout.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schedule/order/step.hpp"
#include "support/field_json.hpp"
#include "tests/edits.hpp"
#include "tests/golden.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;

json gpt2() {
  return json::parse(R"({"model_type":"gpt2","n_layer":2,"n_embd":8,"n_head":4,"n_positions":16,
      "vocab_size":11,"n_inner":24,"activation_function":"gelu_new","layer_norm_epsilon":1e-4,
      "scale_attn_weights":true,"scale_attn_by_inverse_layer_idx":false,
      "add_cross_attention":false,"tie_word_embeddings":true})");
}

json llama() {
  return json::parse(R"({"model_type":"llama","num_hidden_layers":1,"hidden_size":8,
      "num_attention_heads":4,"num_key_value_heads":2,"head_dim":4,"intermediate_size":12,
      "max_position_embeddings":16,"vocab_size":11,"rms_norm_eps":1e-5,"rope_theta":500000.0,
      "rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.5,
      "high_freq_factor":4.5,"original_max_position_embeddings":12},"hidden_act":"silu",
      "attention_bias":false,"mlp_bias":false,"tie_word_embeddings":false})");
}

json values_of(const Model& model) {
  return json_of_values(model_record_fields().values(model));
}

// An entry that is edited is refused, or the model is another one.
TEST(ForeignLayout, EachEntryOfAConfigMeansWhatItSays) {
  edits::Sentences said;
  for (const json& config : {gpt2(), llama()}) {
    edits::expect_sound(
        {"",
         config,
         [](const json& edited) { return values_of(model_of_config(edited, "the model")).dump(); },
         {"left out /.*", "with a strange key .*", "text .*"},
         {".*"},
         false},
        said);
  }
}

// With any other word of any field, it is of neither family or its configuration says the word.
TEST(ForeignLayout, AModelIsRefusedOrItsConfigMeansIt) {
  int refused = 0, written = 0;
  for (const json& config : {gpt2(), llama()}) {
    const Model model = model_of_config(config, "the model");
    for (const FieldFacts& field : model_record_fields().facts()) {
      const auto* const one = std::get_if<OneWord>(&field.kind);
      if (one == nullptr) continue;
      for (const std::string& word : one->words) {
        Model other = model;
        model_record_fields().set(other, {{field.key, word}});
        if (!contradiction(other).empty()) continue;
        try {
          const json said = config_of(other);
          EXPECT_EQ(values_of(model_of_config(said, "the model")), values_of(other))
              << field.key << ' ' << word;
          ++written;
        } catch (const std::runtime_error& refusal) {
          EXPECT_THAT(refusal.what(), testing::HasSubstr("is neither a GPT-2 nor a Llama"));
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(written, 10);
}

std::vector<json> all_configs() {
  json biased = llama();
  biased["attention_bias"] = biased["mlp_bias"] = biased["tie_word_embeddings"] = true;
  return {gpt2(), llama(), biased};
}

TEST(ForeignLayout, EachTensorHoldsItsElements) {
  std::string text;
  for (const json& config : all_configs()) {
    for (const ForeignTensor& tensor :
         foreign_tensors(model_of_config(config, "the model"), "prefix.")) {
      text += fmt::format("{} {} of {} {} x {}:", tensor.name, json(tensor.shape).dump(),
                          tensor.matrix, tensor.matrix_rows, tensor.matrix_cols);
      for (const std::int64_t row : {std::int64_t{0}, tensor.rows() / 2, tensor.rows() - 1}) {
        for (const std::int64_t col : {std::int64_t{0}, tensor.cols() / 3, tensor.cols() - 1}) {
          const auto [r, c] = tensor.place(row, col);
          text += fmt::format(" {},{} at {},{}", row, col, r, c);
        }
      }
      text += '\n';
    }
  }
  expect_golden("foreign_tensors.txt", text);
}

// Whatever parameters a model's layers have: one that has no row in the tables is missed here.
TEST(ForeignLayout, EachElementOfEachParameterStandsInOneTensor) {
  for (const json& config : all_configs()) {
    const Model model = model_of_config(config, "the model");
    std::map<std::string, std::vector<int>> times;  // by matrix and element
    for (const ForeignTensor& tensor : foreign_tensors(model, "")) {
      std::vector<int>& own = times[tensor.matrix];
      own.resize(static_cast<std::size_t>(tensor.matrix_rows * tensor.matrix_cols));
      for (std::int64_t r = 0; r < tensor.rows(); ++r) {
        for (std::int64_t c = 0; c < tensor.cols(); ++c) {
          const auto [row, col] = tensor.place(r, c);
          ++own.at(static_cast<std::size_t>(row * tensor.matrix_cols + col));
        }
      }
    }
    const Program program = record_evaluation(model, {});
    EXPECT_EQ(times.size(), program.parameters.size());
    for (const Parameter& parameter : program.parameters) {
      const Value& weight = program[parameter.weight];
      const auto elements = static_cast<std::size_t>(weight.shape.local_elements({}, {}));
      EXPECT_EQ(times[weight.label.full()], std::vector(elements, 1)) << weight.label.full();
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
