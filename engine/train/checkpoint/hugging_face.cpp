// Folders of safetensors files of any number type; see hugging_face.hpp.
#include "engine/train/checkpoint/hugging_face.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/train/checkpoint/safetensors.hpp"
#include "support/own_file.hpp"

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

// Of numbers that are not read, of whatever type.
Found place_of(const nlohmann::json& entry, const std::string& path, std::int64_t first_byte) {
  const nlohmann::json& offsets = entry.at("data_offsets");
  return {path,
          NumberType::fp32,
          {},
          offsets.at(0).get<std::int64_t>() + first_byte,
          offsets.at(1).get<std::int64_t>() + first_byte};
}

Found found_of(const nlohmann::json& entry, const std::string& path, std::int64_t first_byte) {
  Found found = place_of(entry, path, first_byte);
  found.type = number_type_named(entry.at("dtype"));
  std::int64_t elements = 1;
  for (const nlohmann::json& extent : entry.at("shape")) {
    found.shape.push_back(extent);
    if (found.shape.back() < 1 || found.shape.back() > most_elements / elements) {
      throw std::runtime_error("gives a tensor an impossible shape or place");
    }
    elements *= found.shape.back();
  }
  if (found.begin < first_byte || found.end - found.begin != elements * bytes_of(found.type)) {
    throw std::runtime_error("gives a tensor an impossible shape or place");
  }
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
      tensors[name] = is_foreign_buffer(name) ? place_of(entry, path, first_byte)
                                              : found_of(entry, path, first_byte);
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
  const std::string index = folder + "/" + index_name;
  const std::string single = folder + "/" + single_name;
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
  if (files::exists(single) && !paths.contains(single_name)) {
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

// Of finite numbers, the largest is too large for the type if any is.
void expect_in_range(const ForeignTensor& tensor, const WholeMatrix& matrix, NumberType type) {
  float largest = 0.0F;
  for (std::int64_t r = 0; r < tensor.rows(); ++r) {
    for (std::int64_t c = 0; c < tensor.cols(); ++c) {
      const auto [row, col] = tensor.place(r, c);
      const float number = matrix.values[static_cast<std::size_t>(row * matrix.cols + col)];
      if (std::abs(number) > std::abs(largest)) largest = number;
    }
  }
  if (!std::isfinite(largest) || std::isfinite(from_bits(type, to_bits(type, largest)))) return;
  throw std::runtime_error(
      fmt::format("{} has a number of {:g}, which is too large for {}; give another --type",
                  tensor.name, largest, name(type)));
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

// A folder that is filled, or is left as it was found: with nothing in it, or not there at all.
class FilledFolder {
 public:
  explicit FilledFolder(const std::string& path)
      : path_(path), is_new_(files::create_directories(path)) {}
  ~FilledFolder() {
    if (is_whole_) return;
    std::error_code ignored;
    for (const std::string& file : written_) files::remove(file, ignored);
    if (is_new_) files::remove(path_, ignored);
  }
  FilledFolder(const FilledFolder&) = delete;
  FilledFolder& operator=(const FilledFolder&) = delete;

  void write(const std::string& name, const std::string& content) {
    written_.push_back(path_ + "/" + name);
    write_own_file(written_.back(), content);
  }
  void is_whole() { is_whole_ = true; }

 private:
  std::string path_;
  bool is_new_ = false, is_whole_ = false;
  std::vector<std::string> written_;
};

}  // namespace

std::pair<ForeignCheckpoint, Matrices> read_foreign(const std::string& folder) {
  ForeignCheckpoint checkpoint;
  const std::string config = folder + "/config.json";
  checkpoint.config = read_json(config);
  try {
    const files::path last =
        files::absolute(folder + "/.").lexically_normal().parent_path().filename();
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

void write_foreign(const std::string& folder, const ForeignCheckpoint& what,
                   const Matrices& matrices, std::int64_t most_bytes) {
  if (files::exists(folder) && !files::is_empty(folder)) {
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
    expect_in_range(tensor, matrices.at(tensor.matrix), type_of(tensor.name));
    const std::int64_t bytes = tensor.rows() * tensor.cols() * bytes_of(type_of(tensor.name));
    if (in_group + bytes > most_bytes) {
      groups.emplace_back();
      in_group = 0;
    }
    groups.back().push_back(&tensor);
    in_group += bytes;
    total += bytes;
  }
  FilledFolder filled(folder);
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
    filled.write(file, start + text + data);
  }
  if (groups.size() > 1) {
    const nlohmann::json index{{"metadata", {{"total_size", total}}}, {"weight_map", map}};
    filled.write(index_name, index.dump(2) + "\n");
  }
  const nlohmann::json config = what.config.is_null() ? config_of(what.model) : what.config;
  filled.write("config.json", config.dump(2) + "\n");
  filled.is_whole();
}

}  // namespace fourfold
