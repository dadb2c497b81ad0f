// The GPT-2 naming, and safetensors files of any number type; see hugging_face.hpp.
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
    elements *= found.shape.back();
  }
  found.begin = entry.at("data_offsets").at(0).get<std::int64_t>() + first_byte;
  found.end = entry.at("data_offsets").at(1).get<std::int64_t>() + first_byte;
  if (found.begin < first_byte || found.end - found.begin != elements * bytes_of(found.type)) {
    throw std::runtime_error("gives a tensor an impossible shape or place");
  }
  return found;
}

// That old versions of transformers saved; no weights.
bool is_mask(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
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
      if (!is_mask(name)) tensors[name] = found_of(entry, path, first_byte);
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
  for (const std::string& path : paths) all.merge(tensors_in(folder + "/" + path));
  for (const auto& [name, file] : map->items()) {
    if (all.contains(name) || is_mask(name)) continue;
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

std::pair<std::int64_t, std::int64_t> same(std::int64_t row, std::int64_t col) {
  return {row, col};
}
std::pair<std::int64_t, std::int64_t> second_row(std::int64_t, std::int64_t col) {
  return {1, col};
}

// Their column of queries, keys and values side by side, as ours, head by head.
std::int64_t qkv_column(std::int64_t col, std::int64_t hidden, std::int64_t of_head) {
  const std::int64_t which = col / hidden, within = col % hidden;
  return (3 * (within / of_head) + which) * of_head + within % of_head;
}

void put(const ForeignTensor& tensor, const std::vector<float>& numbers, Matrices& matrices) {
  WholeMatrix& matrix = matrices[tensor.matrix];
  for (std::int64_t r = 0; r < tensor.rows(); ++r) {
    for (std::int64_t c = 0; c < tensor.cols(); ++c) {
      const auto [row, col] = tensor.place(r, c);
      matrix.rows = std::max(matrix.rows, row + 1);
      matrix.cols = std::max(matrix.cols, tensor.cols());
      matrix.values.resize(static_cast<std::size_t>(
          std::max<std::int64_t>(matrix.rows, tensor.rows()) * matrix.cols));
      matrix.values[static_cast<std::size_t>(row * matrix.cols + col)] =
          numbers[static_cast<std::size_t>(r * tensor.cols() + c)];
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

Model model_of_config(const nlohmann::json& config, const std::string& name) {
  const auto type = config.value("model_type", nlohmann::json());
  if (type != "gpt2") {
    throw std::runtime_error(
        fmt::format("is of model_type {}; known: \"gpt2\"", type.is_null() ? "none" : type.dump()));
  }
  const auto expect = [&](const char* key, const nlohmann::json& usual) {
    const auto value = config.find(key);
    if (value == config.end() || value->is_null() || *value == usual) return;
    throw std::runtime_error(
        fmt::format("has {} {}, and only {} is known here", key, value->dump(), usual.dump()));
  };
  const auto number = [&](const char* key) {
    const auto value = config.find(key);
    if (value != config.end() && value->is_number_integer() && value->get<std::int64_t>() > 0) {
      return value->get<std::int64_t>();
    }
    throw std::runtime_error(fmt::format("does not say {} as a whole number", key));
  };
  Model model;
  model.name = name;
  model.layers = number("n_layer");
  model.hidden = number("n_embd");
  model.heads = number("n_head");
  model.sequence = number("n_positions");
  model.vocabulary = number("vocab_size");
  expect("n_inner", 4 * model.hidden);
  expect("activation_function", "gelu_new");
  expect("layer_norm_epsilon", 1e-5);
  expect("scale_attn_weights", true);
  expect("scale_attn_by_inverse_layer_idx", false);
  expect("tie_word_embeddings", true);
  expect("add_cross_attention", false);
  if (model.hidden % model.heads != 0) {
    throw std::runtime_error(fmt::format("has n_embd {}, which does not divide by n_head {}",
                                         model.hidden, model.heads));
  }
  return model;
}

nlohmann::json config_of(const Model& model) {
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"n_layer", model.layers},
          {"n_embd", model.hidden},
          {"n_head", model.heads},
          {"n_positions", model.sequence},
          {"n_ctx", model.sequence},
          {"vocab_size", model.vocabulary},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", 1e-5},
          {"tie_word_embeddings", true},
          {"torch_dtype", "float32"}};
}

std::vector<ForeignTensor> foreign_tensors(const Model& model) {
  const std::int64_t h = model.hidden, d = model.hidden / model.heads;
  std::vector<ForeignTensor> all;
  const auto norm = [&](const std::string& theirs, const std::string& ours) {
    all.push_back({theirs + ".weight", {h}, ours, same});
    all.push_back({theirs + ".bias", {h}, ours, second_row});
  };
  const auto product = [&](const std::string& theirs, const std::string& ours, std::int64_t rows,
                           std::int64_t cols) {
    all.push_back({theirs + ".weight", {rows, cols}, ours + ".weight", same});
    all.push_back({theirs + ".bias", {cols}, ours + ".bias", same});
  };
  all.push_back({"wte.weight", {model.vocabulary, h}, "table", same});
  all.push_back({"wpe.weight", {model.sequence, h}, "positions", same});
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string theirs = fmt::format("h.{}", i), ours = fmt::format("block{}.", i);
    norm(theirs + ".ln_1", ours + "norm1");
    product(theirs + ".attn.c_attn", ours + "qkv", h, 3 * h);
    for (auto tensor = all.end() - 2; tensor != all.end(); ++tensor) {
      tensor->place = [h, d](std::int64_t row, std::int64_t col) {
        return std::pair{row, qkv_column(col, h, d)};
      };
    }
    product(theirs + ".attn.c_proj", ours + "projection", h, h);
    norm(theirs + ".ln_2", ours + "norm2");
    product(theirs + ".mlp.c_fc", ours + "up", h, 4 * h);
    product(theirs + ".mlp.c_proj", ours + "down", 4 * h, h);
  }
  norm("ln_f", "final_norm");
  return all;
}

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
  if (found.contains("transformer.wte.weight")) checkpoint.prefix = "transformer.";
  Matrices matrices;
  std::vector<float> embedding;
  for (const ForeignTensor& tensor : foreign_tensors(checkpoint.model)) {
    const std::string name = checkpoint.prefix + tensor.name;
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
  if (const auto head = found.find("lm_head.weight"); head != found.end()) {
    const std::vector<float> numbers = numbers_in(head->second);
    if (numbers.size() != embedding.size() ||
        std::memcmp(numbers.data(), embedding.data(), 4 * numbers.size()) != 0) {
      throw std::runtime_error(head->second.file +
                               " holds an lm_head.weight other than the embedding, which is the "
                               "output's weight, too, in models of today");
    }
    checkpoint.types["lm_head.weight"] = head->second.type;
    checkpoint.has_head = true;
    found.erase(head);
  }
  if (!found.empty()) {
    throw std::runtime_error(fmt::format("{} holds {}, which no GPT-2 has",
                                         found.begin()->second.file, found.begin()->first));
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
  std::vector<ForeignTensor> tensors = foreign_tensors(what.model);
  for (ForeignTensor& tensor : tensors) tensor.name = what.prefix + tensor.name;
  if (what.has_head) {
    ForeignTensor head = tensors.front();
    head.name = "lm_head.weight";
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
