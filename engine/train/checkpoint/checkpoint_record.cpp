// Between a checkpoint's record and its text; see checkpoint_record.hpp.
#include "engine/train/checkpoint/checkpoint_record.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "support/field_json.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"

namespace fourfold {

namespace {

constexpr const char* format_name = "fourfold checkpoint";
constexpr int format_version = 1;

// JSON numbers lose digits above 2^53 in many readers.
std::string hexadecimal(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

std::uint64_t from_hexadecimal(const std::string& text) {
  std::size_t used = 0;
  const std::uint64_t number = std::stoull(text, &used, 16);
  if (used != text.size()) throw std::invalid_argument(text);
  return number;
}

Model model_from(const nlohmann::json& json) {
  Model model;
  model_record_fields().set(
      model, read_fields(JsonObject(json, "the model"), model_record_fields().facts()));
  return model;
}

CheckpointRecord record_from(const nlohmann::json& json) {
  CheckpointRecord record;
  record.state.model = model_from(json.at("model"));
  record.state.step = json.at("step");
  record.state.position = json.at("position");
  record.state.seed = json.at("seed");
  record.state.trainer = json.at("trainer");
  record.serial = json.at("serial");
  record.data_file = json.at("data_file");
  record.data_file_bytes = json.at("data_file_bytes");
  record.head_checksum = from_hexadecimal(json.at("head_checksum"));
  for (const auto& [name, sum] : json.at("checksums").items()) {
    record.checksums[name] = from_hexadecimal(sum);
  }
  return record;
}

}  // namespace

std::string text_of(const CheckpointRecord& record) {
  const TrainingState& state = record.state;
  nlohmann::json json = {{"format", format_name},
                         {"version", format_version},
                         {"model", json_of(model_record_fields().values(state.model))},
                         {"step", state.step},
                         {"position", state.position},
                         {"seed", state.seed},
                         {"trainer", state.trainer},
                         {"serial", record.serial},
                         {"data_file", record.data_file},
                         {"data_file_bytes", record.data_file_bytes},
                         {"head_checksum", hexadecimal(record.head_checksum)}};
  json["checksums"] = nlohmann::json::object();
  for (const auto& [name, sum] : record.checksums) json["checksums"][name] = hexadecimal(sum);
  json["checksum"] = hexadecimal(checksum(json.dump()));
  return json.dump(1) + "\n";
}

CheckpointRecord parse_checkpoint_record(const std::string& text) {
  nlohmann::json json = json_in(text).value_or(nlohmann::json());
  if (!json.is_object()) throw std::runtime_error("is damaged: it is no JSON object");
  const auto kept = json.find("checksum");
  const std::string sum = kept == json.end() || !kept->is_string() ? "" : kept->get<std::string>();
  json.erase("checksum");
  // A sound file of another kind or version deserves to be called so.
  const bool sound = sum == hexadecimal(checksum(json.dump()));
  if (!sound && json.value("format", nlohmann::json()) == format_name) {
    throw std::runtime_error("is damaged: its own checksum does not fit it");
  }
  if (!sound || json.value("format", nlohmann::json()) != format_name) {
    throw std::runtime_error("is not the JSON of a checkpoint");
  }
  if (json.value("version", nlohmann::json()) != format_version) {
    throw std::runtime_error(fmt::format("is a checkpoint of version {}; this program reads {}",
                                         json["version"].dump(), format_version));
  }
  try {
    return record_from(json);
  } catch (const std::exception&) {
    throw std::runtime_error("is damaged: something is missing from it");
  }
}

}  // namespace fourfold
