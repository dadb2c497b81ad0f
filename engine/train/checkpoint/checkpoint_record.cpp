// Between a checkpoint's record and its text; see checkpoint_record.hpp.
#include "engine/train/checkpoint/checkpoint_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "support/field_json.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "support/plain_name.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

using nlohmann::json;

constexpr const char* format_name = "fourfold checkpoint";
constexpr int format_version = 1;

// JSON numbers lose digits above 2^53 in many readers.
std::string hexadecimal(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

// Ranges of what a record says: far above what a run reaches, and far below what overflows where it
// is counted on.
constexpr std::int64_t most_steps = 1'000'000'000'000;
constexpr std::int64_t most_sequences = std::int64_t{1} << 48;
constexpr std::int64_t most_sequences_of_a_step = std::int64_t{1} << 31;
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;
constexpr double most_seconds = 1e12;

// One entry of the record after the other, each of its kind and within its range.
class Entries {
 public:
  explicit Entries(const json& record) : record_(record) {}

  const json& at(const char* key) const {
    const auto found = record_.find(key);
    if (found == record_.end()) fail(key, "is missing");
    return *found;
  }
  std::int64_t whole(const char* key, std::int64_t least, std::int64_t most) const {
    const json& value = at(key);
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX) &&
                      value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
    if (!fits) fail(key, fmt::format("must be a whole number from {} to {}", least, most));
    return value.get<std::int64_t>();
  }
  std::uint64_t seed(const char* key) const {
    if (!at(key).is_number_unsigned()) fail(key, "must be a whole number, 0 or more");
    return at(key).get<std::uint64_t>();
  }
  double seconds(const char* key) const {
    const json& value = at(key);
    const bool fits =
        value.is_number() && value.get<double>() >= 0.0 && value.get<double>() <= most_seconds;
    if (!fits) fail(key, fmt::format("must be a number from 0 to {:g}", most_seconds));
    return value.get<double>();
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) fail(key, "must be text");
    return at(key).get<std::string>();
  }
  // A file of the same folder.
  std::string file_name(const char* key) const {
    const std::string name = text(key);
    const std::string why = why_not_plain(name);
    if (!why.empty()) fail(key, "must be the name of a file in the same folder, but " + why);
    return name;
  }
  std::uint64_t sum(const char* key) const { return sum_in(key, at(key)); }
  std::map<std::string, std::uint64_t> sums(const char* key) const {
    std::map<std::string, std::uint64_t> all;
    for (const auto& [name, sum] : object(key).items()) all[name] = sum_in(key, sum);
    return all;
  }
  const json& object(const char* key) const {
    if (!at(key).is_object()) fail(key, "must be an object");
    return at(key);
  }

  [[noreturn]] static void fail(const std::string& key, const std::string& what) {
    throw std::runtime_error(fmt::format("is damaged: '{}' {}", key, what));
  }

 private:
  static std::uint64_t sum_in(const char* key, const json& value) {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
      fail(key, "must be of 16 hexadecimal digits");
    }
    return std::stoull(text, nullptr, 16);
  }

  const json& record_;
};

Model model_from(const json& value) {
  Model model;
  try {
    model_record_fields().set(
        model, read_fields(JsonObject(value, "the model"), model_record_fields().facts()));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("is damaged: ") + error.what());
  }
  for (const std::string& why : {contradiction(model), excess(model)}) {
    if (!why.empty()) throw std::runtime_error("is damaged: of its model, " + why);
  }
  model.name = made_plain(model.name);
  return model;
}

// {"--batch": ["16"], ...}
void check_typed(const json& typed) {
  const auto is_text = [](const json& word) { return word.is_string(); };
  for (const auto& [flag, words] : typed.items()) {
    if (words.is_array() && !words.empty() && std::ranges::all_of(words, is_text)) continue;
    Entries::fail("typed", "must have a list of words for each flag");
  }
}

// Of the trainer's own, which is handed on as it is, what others rely on. All of it may be missing.
json trainer_from(const json& trainer) {
  const Entries entries(trainer);
  if (trainer.contains("typed")) check_typed(entries.object("typed"));
  if (trainer.contains("imported")) entries.object("imported");
  if (trainer.contains("data")) {
    const Entries data(entries.object("data"));
    for (const char* key : {"is", "digest"}) data.text(key);
  }
  if (trainer.contains("words")) entries.text("words");
  const double trained =
      trainer.contains("trained_seconds") ? entries.seconds("trained_seconds") : 0;
  if (trainer.contains("warm_up")) {
    const Entries warm_up(entries.object("warm_up"));
    warm_up.whole("steps", 0, most_steps);
    if (warm_up.seconds("seconds") > trained) {
      Entries::fail("warm_up",
                    fmt::format("took longer than all steps, which took {:g} s", trained));
    }
  }
  for (const char* key : {"kernels", "transports"}) {
    if (trainer.contains(key) && !trainer.at(key).is_array()) Entries::fail(key, "must be a list");
  }
  return trainer;
}

// Steps that were gone back from have read on.
bool goes_back(const json& trainer) {
  const json typed = trainer.value("typed", json::object());
  return typed.contains("--bad-steps") && typed.at("--bad-steps").back() == "rewind";
}

void expect_agreement(const TrainingState& state) {
  if (state.step == 0 && state.position > 0 && !goes_back(state.trainer)) {
    Entries::fail("position", fmt::format("is {}, but step 0 has read nothing", state.position));
  }
  const std::int64_t read = std::max<std::int64_t>(state.step, 1);
  if (state.position / most_sequences_of_a_step >= read) {
    Entries::fail("position", fmt::format("is {}, more than {} steps can have read", state.position,
                                          state.step));
  }
}

CheckpointRecord record_from(const json& record_json) {
  const Entries entries(record_json);
  CheckpointRecord record;
  record.state.model = model_from(entries.at("model"));
  record.state.step = entries.whole("step", 0, most_steps);
  record.state.position = entries.whole("position", 0, most_sequences);
  record.state.seed = entries.seed("seed");
  record.state.trainer = trainer_from(entries.object("trainer"));
  expect_agreement(record.state);
  record.serial = entries.whole("serial", 0, most_steps);
  record.data_file = entries.file_name("data_file");
  record.data_file_bytes = entries.whole("data_file_bytes", 1, most_bytes);
  record.head_checksum = entries.sum("head_checksum");
  record.checksums = entries.sums("checksums");
  return record;
}

}  // namespace

std::string text_of(const CheckpointRecord& record) {
  const TrainingState& state = record.state;
  json record_json = {{"format", format_name},
                      {"version", format_version},
                      {"model", json_of_values(model_record_fields().values(state.model))},
                      {"step", state.step},
                      {"position", state.position},
                      {"seed", state.seed},
                      {"trainer", state.trainer},
                      {"serial", record.serial},
                      {"data_file", record.data_file},
                      {"data_file_bytes", record.data_file_bytes},
                      {"head_checksum", hexadecimal(record.head_checksum)}};
  record_json["checksums"] = json::object();
  for (const auto& [name, sum] : record.checksums)
    record_json["checksums"][name] = hexadecimal(sum);
  record_json["checksum"] = hexadecimal(checksum(record_json.dump()));
  return record_json.dump(1) + "\n";
}

CheckpointRecord parse_checkpoint_record(const std::string& text) {
  json record = json_in(text).value_or(json());
  if (!record.is_object()) throw std::runtime_error("is damaged: it is no JSON object");
  const auto kept = record.find("checksum");
  const std::string sum =
      kept == record.end() || !kept->is_string() ? "" : kept->get<std::string>();
  record.erase("checksum");
  // A sound file of another kind or version deserves to be called so.
  const bool sound = sum == hexadecimal(checksum(record.dump()));
  if (!sound && record.value("format", json()) == format_name) {
    throw std::runtime_error("is damaged: its own checksum does not fit it");
  }
  if (!sound || record.value("format", json()) != format_name) {
    throw std::runtime_error("is not the JSON of a checkpoint");
  }
  if (record.value("version", json()) != format_version) {
    throw std::runtime_error(fmt::format("is a checkpoint of version {}; this program reads {}",
                                         record["version"].dump(), format_version));
  }
  return record_from(record);
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
