// Folders of safetensors files of any number type; see hugging_face.hpp.
#include "engine/train/checkpoint/hugging_face.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "engine/train/checkpoint/safetensors.hpp"
#include "support/whole_file.hpp"

namespace fourfold {

namespace {

namespace files = std::filesystem;

constexpr const char* index_name = "model.safetensors.index.json";
constexpr const char* single_name = "model.safetensors";
constexpr std::int64_t most_elements = std::int64_t{1} << 48;

// Where a tensor lies in its file.
struct Found {
  std::string file;
  NumberType type = NumberType::fp32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  // bytes of the file
};

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read");
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) throw std::runtime_error(path + " is damaged: it is no JSON object");
  return json;
}

Found found_of(const nlohmann::json& entry, const std::string& path, std::int64_t first_byte) {
  Found found{path, number_type_named(entry.at("dtype")), {}, 0, 0};
  std::int64_t elements = 1;
  for (const nlohmann::json& extent : entry.at("shape")) {
    found.shape.push_back(extent);
    if (found.shape.back() < 1 || found.shape.back() > most_elements / elements) {
      throw std::runtime_error("gives a tensor an impossible shape or place");
    }
    elements *= found.shape.back();
  }
  found.begin = entry.at("data_offsets").at(0).get<std::int64_t>() + first_byte;
  found.end = entry.at("data_offsets").at(1).get<std::int64_t>() + first_byte;
  if (found.begin < first_byte || found.end - found.begin != elements * bytes_of(found.type)) {
    throw std::runtime_error("gives a tensor an impossible shape or place");
  }
  return found;
}

// The tensors of a file by name.
std::map<std::string, Found> tensors_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read");
  const auto bytes = static_cast<std::int64_t>(files::file_size(path));
  std::map<std::string, Found> tensors;
  try {
    std::string head(static_cast<std::size_t>(std::min<std::int64_t>(8, bytes)), '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    const std::int64_t first_byte = safetensors_head_bytes(head, bytes);
    std::string text(static_cast<std::size_t>(first_byte - 8), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const nlohmann::json listed = nlohmann::json::parse(text);
    for (const auto& [name, entry] : listed.items()) {
      if (name == "__metadata__") continue;
      const std::int64_t end = first_byte + entry.at("data_offsets").at(1).get<std::int64_t>();
      if (end > bytes) {
        throw std::runtime_error(
            fmt::format("is truncated: {} ends at byte {}, and it has {}", name, end, bytes));
      }
      if (!is_foreign_buffer(name)) tensors[name] = found_of(entry, path, first_byte);
    }
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(path + " has a damaged safetensors head");
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + " " + error.what());
  }
  return tensors;
}

// Of one file, or of those that the index names.
std::map<std::string, Found> all_tensors(const std::string& folder) {
  const std::string index = folder + "/" + index_name;
  if (!files::exists(index)) return tensors_in(folder + "/" + single_name);
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
    if (all.contains(name) || is_foreign_buffer(name)) continue;
    throw std::runtime_error(
        fmt::format("{} speaks of {}, which is not in {}", index, name, file.get<std::string>()));
  }
  return all;
}

std::vector<float> numbers_in(const Found& found) {
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

std::string bytes_of(const ForeignTensor& tensor, const WholeMatrix& matrix, NumberType type) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(tensor.rows() * tensor.cols() * bytes_of(type)));
  for (std::int64_t r = 0; r < tensor.rows(); ++r) {
    for (std::int64_t c = 0; c < tensor.cols(); ++c) {
      const auto [row, col] = tensor.place(r, c);
      const std::uint32_t bits =
          to_bits(type, matrix.values[static_cast<std::size_t>(row * matrix.cols + col)]);
      bytes.append(reinterpret_cast<const char*>(&bits), static_cast<std::size_t>(bytes_of(type)));
    }
  }
  return bytes;
}

}  // namespace

std::pair<ForeignCheckpoint, Matrices> read_foreign(const std::string& folder) {
  ForeignCheckpoint checkpoint;
  const std::string config = folder + "/config.json";
  checkpoint.config = read_json(config);
  try {
    const files::path last = files::absolute(folder + "/.").parent_path().filename();
    checkpoint.model = model_of_config(checkpoint.config, last.string());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(config + " " + error.what());
  }
  std::map<std::string, Found> found = all_tensors(folder);
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
    const std::vector<float> numbers = numbers_in(own->second);
    put(tensor, numbers, matrices);
    if (tensor.matrix == "table") embedding = numbers;
    checkpoint.types[name] = own->second.type;
    found.erase(own);
  }
  if (const auto head = found.find(foreign_head); head != found.end()) {
    const std::vector<float> numbers = numbers_in(head->second);
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

void write_foreign(const std::string& folder, const ForeignCheckpoint& what,
                   const Matrices& matrices, std::int64_t most_bytes) {
  files::create_directories(folder);
  if (!files::is_empty(folder)) {
    throw std::runtime_error(folder + " is not empty; give a folder that is new");
  }
  const auto type_of = [&](const std::string& name) {
    const auto type = what.types.find(name);
    return type == what.types.end() ? NumberType::fp32 : type->second;
  };
  std::vector<ForeignTensor> tensors = foreign_tensors(what.model, what.prefix);
  if (what.has_head) {
    ForeignTensor head = tensors.front();
    head.name = foreign_head;
    tensors.push_back(head);
  }
  std::vector<std::vector<const ForeignTensor*>> groups;
  std::int64_t in_group = most_bytes, total = 0;
  for (const ForeignTensor& tensor : tensors) {
    const std::int64_t bytes = tensor.rows() * tensor.cols() * bytes_of(type_of(tensor.name));
    if (in_group + bytes > most_bytes) {
      groups.emplace_back();
      in_group = 0;
    }
    groups.back().push_back(&tensor);
    in_group += bytes;
    total += bytes;
  }
  nlohmann::json map;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string file =
        groups.size() == 1 ? std::string(single_name)
                           : fmt::format("model-{:05}-of-{:05}.safetensors", g + 1, groups.size());
    nlohmann::ordered_json head{{"__metadata__", {{"format", "pt"}}}};
    std::string data;
    for (const ForeignTensor* tensor : groups[g]) {
      const NumberType type = type_of(tensor->name);
      const std::size_t begin = data.size();
      data += bytes_of(*tensor, matrices.at(tensor->matrix), type);
      head[tensor->name] = {
          {"dtype", name(type)}, {"shape", tensor->shape}, {"data_offsets", {begin, data.size()}}};
      map[tensor->name] = file;
    }
    std::string text = head.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    const std::uint64_t length = text.size();
    std::string start(8, '\0');
    std::memcpy(start.data(), &length, sizeof length);
    write_whole_file(folder + "/" + file, start + text + data);
  }
  if (groups.size() > 1) {
    const nlohmann::json index{{"metadata", {{"total_size", total}}}, {"weight_map", map}};
    write_whole_file(folder + "/" + index_name, index.dump(2) + "\n");
  }
  const nlohmann::json config = what.config.is_null() ? config_of(what.model) : what.config;
  write_whole_file(folder + "/config.json", config.dump(2) + "\n");
}

}  // namespace fourfold
