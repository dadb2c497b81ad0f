// Shards as they came or anew, then everything beside them; see foreign_writer.hpp.
#include "engine/train/checkpoint/foreign_writer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "engine/train/checkpoint/filled_folder.hpp"
#include "engine/train/checkpoint/safetensors.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

namespace files = std::filesystem;

// A file of tensors: its head's JSON, and what follows it.
struct Shard {
  std::string file, head;
  std::vector<ForeignTensor> tensors;
};

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

NumberType type_of(const ForeignCheckpoint& what, const std::string& tensor) {
  const auto type = what.types.find(tensor);
  return type == what.types.end() ? NumberType::fp32 : type->second;
}

std::int64_t bytes_in(const ForeignCheckpoint& what, const ForeignTensor& tensor) {
  return tensor.rows() * tensor.cols() * bytes_of(type_of(what, tensor.name));
}

std::vector<ForeignTensor> tensors_of(const ForeignCheckpoint& what) {
  std::vector<ForeignTensor> tensors = foreign_tensors(what.model, what.prefix);
  if (what.has_head) {
    ForeignTensor head = tensors.front();
    head.name = foreign_head;
    tensors.push_back(head);
  }
  return tensors;
}

// {"dtype", "shape", "data_offsets"} of a tensor that begins there.
nlohmann::ordered_json entry_of(const ForeignCheckpoint& what, const ForeignTensor& tensor,
                                std::int64_t begin) {
  return {{"dtype", name(type_of(what, tensor.name))},
          {"shape", tensor.shape},
          {"data_offsets", {begin, begin + bytes_in(what, tensor)}}};
}

std::vector<Shard> shards_anew(const ForeignCheckpoint& what, std::int64_t most_bytes) {
  std::vector<Shard> shards;
  std::int64_t in_shard = most_bytes;
  for (const ForeignTensor& tensor : tensors_of(what)) {
    const std::int64_t bytes = bytes_in(what, tensor);
    if (in_shard + bytes > most_bytes) {
      shards.emplace_back();
      in_shard = 0;
    }
    shards.back().tensors.push_back(tensor);
    in_shard += bytes;
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].file = shards.size() == 1
                         ? std::string(foreign_single)
                         : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    nlohmann::ordered_json head{{"__metadata__", {{"format", "pt"}}}};
    std::int64_t begin = 0;
    for (const ForeignTensor& tensor : shards[i].tensors) {
      head[tensor.name] = entry_of(what, tensor, begin);
      begin += bytes_in(what, tensor);
    }
    shards[i].head = head.dump();
    shards[i].head.append((8 - shards[i].head.size() % 8) % 8, ' ');
  }
  return shards;
}

// A head that was kept says where each tensor of the model lies, one after the other. None where
// heads say anything else: anybody may have written them.
std::optional<std::vector<Shard>> shards_as_they_came(const ForeignCheckpoint& what) {
  std::map<std::string, ForeignTensor> missing;
  for (const ForeignTensor& tensor : tensors_of(what)) missing[tensor.name] = tensor;
  std::vector<Shard> shards;
  for (const auto& [file, head] : what.heads) {
    nlohmann::json listed;
    try {
      listed = safetensors_entries(head);
    } catch (const std::runtime_error&) {
      return std::nullopt;
    }
    Shard& shard = shards.emplace_back(Shard{file, head, {}});
    std::map<std::int64_t, std::string> by_place;
    for (const auto& [tensor, entry] : listed.items()) {
      if (tensor == "__metadata__") continue;
      const auto found = missing.find(tensor);
      const nlohmann::json offsets = entry.value("data_offsets", nlohmann::json());
      if (found == missing.end() || !offsets.is_array() || offsets.empty()) return std::nullopt;
      if (!offsets.front().is_number_integer()) return std::nullopt;
      if (!by_place.emplace(offsets.front().get<std::int64_t>(), tensor).second) {
        return std::nullopt;
      }
    }
    std::int64_t begin = 0;
    for (const auto& [place, tensor] : by_place) {
      shard.tensors.push_back(missing.at(tensor));
      const nlohmann::json entry = entry_of(what, shard.tensors.back(), begin);
      if (listed.at(tensor) != entry) return std::nullopt;
      begin += bytes_in(what, shard.tensors.back());
      missing.erase(tensor);
    }
  }
  if (!missing.empty()) return std::nullopt;
  return shards;
}

// Length and JSON of the head, then the numbers.
std::string text_of(const Shard& shard, const ForeignCheckpoint& what, const Matrices& matrices) {
  const std::uint64_t length = shard.head.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  text += shard.head;
  for (const ForeignTensor& tensor : shard.tensors) {
    text += bytes_of(tensor, matrices.at(tensor.matrix), type_of(what, tensor.name));
  }
  return text;
}

std::string index_of(const std::vector<Shard>& shards, const ForeignCheckpoint& what) {
  nlohmann::json map;
  std::int64_t total = 0;
  for (const Shard& shard : shards) {
    for (const ForeignTensor& tensor : shard.tensors) {
      map[tensor.name] = shard.file;
      total += bytes_in(what, tensor);
    }
  }
  return nlohmann::json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump(2) + "\n";
}

}  // namespace

void write_foreign(const std::string& folder, const ForeignCheckpoint& what,
                   const Matrices& matrices, std::int64_t most_bytes) {
  std::error_code missing;
  if (files::exists(folder, missing) && !files::is_directory(folder, missing)) {
    throw std::runtime_error(folder + " is a file; give a folder that is new");
  }
  if (files::exists(folder, missing) && !files::is_empty(folder, missing)) {
    throw std::runtime_error(folder + " is not empty; give a folder that is new");
  }
  for (const ForeignTensor& tensor : tensors_of(what)) {
    expect_in_range(tensor, matrices.at(tensor.matrix), type_of(what, tensor.name));
  }
  const std::optional<std::vector<Shard>> kept = shards_as_they_came(what);
  const std::vector<Shard> shards = kept ? *kept : shards_anew(what, most_bytes);
  FilledFolder filled(folder);
  for (const Shard& shard : shards) filled.write(shard.file, text_of(shard, what, matrices));
  const std::string own = shards.size() > 1 ? index_of(shards, what) : "";
  const std::string index = kept ? what.index : own;
  if (!index.empty()) filled.write(foreign_index, index);
  filled.write("config.json",
               what.config.empty() ? config_of(what.model).dump(2) + "\n" : what.config);
  for (const auto& [file, content] : what.files) filled.write(file, content);
  filled.is_whole();
}

bool comes_out_as_it_came(const ForeignCheckpoint& what) {
  return shards_as_they_came(what).has_value();
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
