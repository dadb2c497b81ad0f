// End words from records and from the files of others; see end_words.hpp.
#include "engine/train/checkpoint/end_words.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/train/data/token_file.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

constexpr const char* key = "eos_token_id";

bool is_text(const nlohmann::json& trainer) {
  const auto words = trainer.find("words");
  return words != trainer.end() && *words == name(TokenFormat::text);
}

}  // namespace

std::vector<std::int32_t> end_words_of(const TrainingState& state) {
  const nlohmann::json imported = state.trainer.value("imported", nlohmann::json::object());
  if (!imported.is_object() || !imported.contains("end_words")) {
    return is_text(state.trainer) ? std::vector{end_byte} : std::vector<std::int32_t>{};
  }
  std::vector<std::int32_t> words;
  const nlohmann::json& said = imported.at("end_words");
  for (const nlohmann::json& word : said.is_array() ? said : nlohmann::json::array({nullptr})) {
    const std::int64_t number = word.is_number_integer() ? word.get<std::int64_t>() : -1;
    if (number < 0 || number >= state.model.vocabulary) {
      throw std::runtime_error(fmt::format("is damaged: its end words are none of its {} words",
                                           state.model.vocabulary));
    }
    words.push_back(static_cast<std::int32_t>(number));
  }
  return words;
}

std::vector<std::int64_t> end_words_said(const std::string& file, const std::string& text) {
  const nlohmann::json json = parse_json(text, file);
  const nlohmann::json said = json.is_object() && json.contains(key) ? json.at(key) : nullptr;
  std::vector<std::int64_t> words;
  if (said.is_null()) return words;
  for (const nlohmann::json& word : said.is_array() ? said : nlohmann::json::array({said})) {
    const std::int64_t number = word.is_number_integer() ? word.get<std::int64_t>() : -1;
    if (number < 0 || number > INT32_MAX) {
      throw std::runtime_error(
          fmt::format("{} says its {} other than as a whole number or a list of such", file, key));
    }
    words.push_back(number);
  }
  return words;
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
