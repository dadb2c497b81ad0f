// Folders of safetensors files of any number type; see hugging_face.hpp.
#include "engine/train/checkpoint/hugging_face.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/train/checkpoint/carried_files.hpp"
#include "engine/train/checkpoint/safetensors.hpp"
#include "schedule/models/foreign_config.hpp"
#include "support/json_text.hpp"
#include "support/own_file.hpp"
#include "support/plain_name.hpp"
#include "support/text_file.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

namespace files = std::filesystem;

constexpr std::int64_t most_elements = std::int64_t{1} << 48;
constexpr std::int64_t most_head_bytes = 100'000'000;  // as the format's own library has it

// Where a tensor lies in its file.
struct Found {
  std::string file;
  NumberType type = NumberType::fp32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  // bytes of the file
};

nlohmann::json read_json(const std::string& path) {
  std::optional<nlohmann::json> json = json_in(read_text_file(path));
  if (!json || !json->is_object()) {
    throw std::runtime_error(path + " is damaged: it is no JSON object");
  }
  return *std::move(json);
}

[[noreturn]] void refuse_place() {
  throw std::runtime_error("gives a tensor an impossible shape or place");
}

// Of numbers that are not read, of whatever type.
Found place_of(const nlohmann::json& entry, const std::string& path, std::int64_t first_byte) {
  const nlohmann::json& offsets = entry.at("data_offsets");
  const auto begin = whole_in(offsets.at(0), most_elements);
  const auto end = whole_in(offsets.at(1), most_elements);
  if (!begin || !end || *end < *begin) refuse_place();
  return {path, NumberType::fp32, {}, *begin + first_byte, *end + first_byte};
}

Found found_of(const nlohmann::json& entry, const std::string& path, std::int64_t first_byte) {
  Found found = place_of(entry, path, first_byte);
  found.type = number_type_named(entry.at("dtype"));
  std::int64_t elements = 1;
  for (const nlohmann::json& extent : entry.at("shape")) {
    const auto number = whole_in(extent, most_elements / elements);
    if (!number || *number < 1) refuse_place();
    found.shape.push_back(*number);
    elements *= *number;
  }
  if (found.end - found.begin != elements * bytes_of(found.type)) refuse_place();
  return found;
}

// Tensors fill the data that follows the head, one after the other.
void expect_side_by_side(const std::map<std::string, Found>& tensors, std::int64_t first_byte,
                         std::int64_t bytes) {
  std::map<std::int64_t, std::pair<std::string, std::int64_t>> by_place;
  for (const auto& [name, found] : tensors) {
    const auto [other, is_new] = by_place.emplace(found.begin, std::pair{name, found.end});
    if (is_new) continue;
    throw std::runtime_error(
        fmt::format("is damaged: {} and {} share bytes", other->second.first, name));
  }
  std::int64_t end = first_byte;
  std::string before = "the head";
  for (const auto& [begin, tensor] : by_place) {
    if (begin < end) {
      throw std::runtime_error(
          fmt::format("is damaged: {} and {} share bytes", before, tensor.first));
    }
    if (begin > end) {
      throw std::runtime_error(
          fmt::format("is damaged: {} bytes between {} and {} are of no tensor", begin - end,
                      before, tensor.first));
    }
    before = tensor.first;
    end = tensor.second;
  }
  if (end == bytes) return;
  throw std::runtime_error(
      fmt::format("is damaged: {} bytes behind {} are of no tensor", bytes - end, before));
}

// The tensors of a file by name.
std::map<std::string, Found> tensors_in(const std::string& path) {
  const std::int64_t bytes = bytes_of_plain_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read");
  std::map<std::string, Found> tensors;
  try {
    std::string head(static_cast<std::size_t>(std::min<std::int64_t>(8, bytes)), '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    const std::int64_t first_byte = safetensors_head_bytes(head, bytes);
    if (first_byte > most_head_bytes) throw std::runtime_error("has a damaged safetensors head");
    std::string text(static_cast<std::size_t>(first_byte - 8), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const nlohmann::json listed = safetensors_entries(text);
    for (const auto& [name, entry] : listed.items()) {
      if (name == "__metadata__") continue;
      const Found place = place_of(entry, path, first_byte);
      if (place.end > bytes) {
        throw std::runtime_error(
            fmt::format("is truncated: {} ends at byte {}, and it has {}", name, place.end, bytes));
      }
      tensors[name] = is_foreign_buffer(name) ? place : found_of(entry, path, first_byte);
    }
    expect_side_by_side(tensors, first_byte, bytes);
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(path + " has a damaged safetensors head");
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + " " + error.what());
  }
  std::erase_if(tensors, [](const auto& tensor) { return is_foreign_buffer(tensor.first); });
  return tensors;
}

// Of one file, or of those that the index names.
std::map<std::string, Found> all_tensors(const std::string& folder) {
  const std::string index = folder + "/" + foreign_index;
  const std::string single = folder + "/" + foreign_single;
  if (!files::exists(index)) return tensors_in(single);
  const nlohmann::json list = read_json(index);
  const auto map = list.find("weight_map");
  if (map == list.end() || !map->is_object()) {
    throw std::runtime_error(index + " is damaged: it has no weight_map");
  }
  std::set<std::string> paths;
  for (const auto& [name, file] : map->items()) {
    const std::string own = file.is_string() ? file.get<std::string>() : std::string();
    if (own.empty() || own.find('/') != std::string::npos) {
      throw std::runtime_error(
          fmt::format("{} is damaged: {} is in no file of the folder", index, name));
    }
    paths.insert(own);
  }
  if (files::exists(single) && !paths.contains(foreign_single)) {
    throw std::runtime_error(fmt::format(
        "{} does not speak of {} beside it; leave the one that is meant", index, single));
  }
  std::map<std::string, Found> all;
  for (const std::string& path : paths) {
    std::map<std::string, Found> own = tensors_in(folder + "/" + path);
    all.merge(own);
    if (own.empty()) continue;
    throw std::runtime_error(fmt::format("{} and {}/{} both hold {}",
                                         all.at(own.begin()->first).file, folder, path,
                                         own.begin()->first));
  }
  for (const auto& [name, file] : map->items()) {
    if (is_foreign_buffer(name)) continue;
    const auto own = file.get<std::string>();
    const auto found = all.find(name);
    if (found != all.end() && found->second.file == folder + "/" + own) continue;
    throw std::runtime_error(fmt::format("{} speaks of {}, which is not in {}", index, name, own));
  }
  for (const auto& [name, found] : all) {
    if (map->contains(name)) continue;
    throw std::runtime_error(
        fmt::format("{} does not speak of {}, which is in {}", index, name, found.file));
  }
  return all;
}

std::vector<float> numbers_in(const std::string& name, const Found& found) {
  std::ifstream file(found.file, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(found.end - found.begin), '\0');
  file.seekg(found.begin);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error(found.file + " cannot be read");
  const auto width = static_cast<std::size_t>(bytes_of(found.type));
  std::vector<float> numbers;
  numbers.reserve(bytes.size() / width);
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, width);
    numbers.push_back(from_bits(found.type, bits));
    if (std::isfinite(numbers.back())) continue;
    throw std::runtime_error(
        fmt::format("{} is damaged: {} has a number that is {}", found.file, name, numbers.back()));
  }
  return numbers;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  }
  return text;
}

void put(const ForeignTensor& tensor, const std::vector<float>& numbers, Matrices& matrices) {
  WholeMatrix& matrix = matrices[tensor.matrix];
  matrix.rows = tensor.matrix_rows;
  matrix.cols = tensor.matrix_cols;
  matrix.values.resize(static_cast<std::size_t>(matrix.rows * matrix.cols));
  const float* number = numbers.data();
  for (std::int64_t r = 0; r < tensor.rows(); ++r) {
    for (std::int64_t c = 0; c < tensor.cols(); ++c) {
      const auto [row, col] = tensor.place(r, c);
      matrix.values[static_cast<std::size_t>(row * matrix.cols + col)] = *number++;
    }
  }
}

// The JSON of a file's head as it lies there, which tensors_in() has found to be sound.
std::string head_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof length);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw std::runtime_error(path + " cannot be read");
  return text;
}

// What an export of the same tensors needs to give back the same files.
void remember_files(const std::string& folder, const std::map<std::string, Found>& tensors,
                    ForeignCheckpoint& checkpoint) {
  checkpoint.config = read_whole_file(folder + "/config.json");
  std::error_code missing;
  const std::string index = folder + "/" + foreign_index;
  if (files::exists(index, missing)) checkpoint.index = read_whole_file(index);
  for (const auto& [name, found] : tensors) {
    std::string& head = checkpoint.heads[files::path(found.file).filename().string()];
    if (head.empty()) head = head_in(found.file);
  }
  checkpoint.files = carried_files_in(folder);
}

// Others call their models as the folder is called.
std::string name_of_model(const std::string& folder, const nlohmann::json& config) {
  const nlohmann::json said = config.value(foreign_model_name, nlohmann::json());
  if (said.is_string() && why_not_plain(said).empty()) return said;
  return name_of_folder(folder);
}

}  // namespace

std::pair<ForeignCheckpoint, Matrices> read_foreign(const std::string& folder) {
  ForeignCheckpoint checkpoint;
  const std::string config = folder + "/config.json";
  const nlohmann::json described = read_json(config);
  try {
    checkpoint.model = model_of_config(described, name_of_model(folder, described));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(config + " " + error.what());
  }
  std::map<std::string, Found> found = all_tensors(folder);
  remember_files(folder, found, checkpoint);
  const ForeignFamily& family = family_of(checkpoint.model);
  if (found.contains(std::string(family.prefix) + family.embedding)) {
    checkpoint.prefix = family.prefix;
  }
  Matrices matrices;
  std::vector<float> embedding;
  for (const ForeignTensor& tensor : foreign_tensors(checkpoint.model, checkpoint.prefix)) {
    const std::string& name = tensor.name;
    const auto own = found.find(name);
    if (own == found.end()) throw std::runtime_error(folder + " does not hold " + name);
    if (own->second.shape != tensor.shape) {
      throw std::runtime_error(fmt::format("{} holds {} as {}, and config.json asks for {}",
                                           own->second.file, name, shape_text(own->second.shape),
                                           shape_text(tensor.shape)));
    }
    const std::vector<float> numbers = numbers_in(name, own->second);
    put(tensor, numbers, matrices);
    if (tensor.matrix == "table") embedding = numbers;
    checkpoint.types[name] = own->second.type;
    found.erase(own);
  }
  if (const auto head = found.find(foreign_head); head != found.end()) {
    const std::vector<float> numbers = numbers_in(head->first, head->second);
    if (numbers.size() != embedding.size() ||
        std::memcmp(numbers.data(), embedding.data(), 4 * numbers.size()) != 0) {
      throw std::runtime_error(head->second.file +
                               " holds an lm_head.weight other than the embedding, which "
                               "config.json ties it to");
    }
    checkpoint.types[foreign_head] = head->second.type;
    checkpoint.has_head = true;
    found.erase(head);
  }
  if (!found.empty()) {
    throw std::runtime_error(fmt::format("{} holds {}, which no {} of this config.json has",
                                         found.begin()->second.file, found.begin()->first,
                                         family.model_type));
  }
  return {checkpoint, matrices};
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
