// Writing and checking of safetensors heads; see safetensors.hpp.
#include "engine/train/checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "support/json_text.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::int64_t alignment = 4'096;
constexpr std::int64_t length_bytes = 8;
constexpr std::int64_t element_bytes = 4;
// Of a file, so that sums of two places of it fit in 64 bits.
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

}  // namespace

std::string safetensors_head(const std::vector<SavedMatrix>& matrices,
                             const std::map<std::string, std::string>& metadata) {
  nlohmann::json json;
  if (!metadata.empty()) json["__metadata__"] = metadata;
  for (const SavedMatrix& matrix : matrices) {
    const std::int64_t begin = matrix.first * element_bytes;
    json[matrix.name] = {{"dtype", "F32"},
                         {"shape", {matrix.rows, matrix.cols}},
                         {"data_offsets", {begin, begin + matrix.elements() * element_bytes}}};
  }
  std::string text = json.dump();
  const auto whole = length_bytes + static_cast<std::int64_t>(text.size());
  text.append(static_cast<std::size_t>((alignment - whole % alignment) % alignment), ' ');
  const std::uint64_t length = text.size();
  std::string head(length_bytes, '\0');
  std::memcpy(head.data(), &length, sizeof length);
  return head + text;
}

std::int64_t safetensors_head_bytes(const std::string& first_bytes, std::int64_t file_bytes) {
  std::uint64_t length = 0;
  if (first_bytes.size() >= sizeof length) std::memcpy(&length, first_bytes.data(), sizeof length);
  if (length < 2 ||
      length > static_cast<std::uint64_t>(std::max<std::int64_t>(file_bytes - 8, 0))) {
    throw std::runtime_error("does not begin as a safetensors file does");
  }
  return length_bytes + static_cast<std::int64_t>(length);
}

nlohmann::json safetensors_entries(const std::string& text) {
  using Event = nlohmann::json::parse_event_t;
  const std::string trouble = json_trouble(text);
  if (!trouble.empty()) throw std::runtime_error("has a damaged safetensors head: " + trouble);
  std::vector<std::set<std::string>> names;  // of the objects around
  std::string twice;
  const auto hear = [&](int, Event event, nlohmann::json& value) {
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event != Event::key) return true;
    const bool first = names.back().insert(value.get<std::string>()).second;
    if (!first && twice.empty()) twice = value.get<std::string>();
    return true;
  };
  const nlohmann::json json = nlohmann::json::parse(text, hear, /*allow_exceptions=*/false);
  if (!json.is_object()) throw std::runtime_error("has a damaged safetensors head");
  if (!twice.empty()) {
    throw std::runtime_error(
        fmt::format("is damaged: its safetensors head speaks of {} twice", twice));
  }
  const auto metadata = json.find("__metadata__");
  const bool of_text = metadata == json.end() ||
                       (metadata->is_object() && std::ranges::all_of(*metadata, [](const auto& v) {
                          return v.is_string();
                        }));
  if (!of_text) {
    throw std::runtime_error(
        "is damaged: the __metadata__ of its safetensors head is no map of text to text");
  }
  return json;
}

std::vector<SavedMatrix> parse_safetensors_head(const std::string& head, std::int64_t data_bytes) {
  std::vector<SavedMatrix> matrices;
  try {
    const nlohmann::json json = safetensors_entries(head.substr(length_bytes));
    for (const auto& [name, entry] : json.items()) {
      if (name == "__metadata__") continue;
      if (entry.at("dtype") != "F32" || entry.at("shape").size() != 2) {
        throw std::runtime_error(fmt::format("holds {}, which is no matrix of fp32", name));
      }
      const auto begin = whole_in(entry.at("data_offsets").at(0), most_bytes);
      const auto end = whole_in(entry.at("data_offsets").at(1), most_bytes);
      const auto rows = whole_in(entry.at("shape").at(0), most_bytes);
      const auto cols = whole_in(entry.at("shape").at(1), most_bytes);
      const bool sound = begin && end && rows && cols && *rows >= 1 && *cols >= 1 &&
                         *rows <= most_bytes / element_bytes / *cols &&
                         *begin % element_bytes == 0 &&
                         *end == *begin + *rows * *cols * element_bytes;
      if (!sound) {
        throw std::runtime_error(fmt::format("gives {} an impossible shape or place", name));
      }
      matrices.push_back({name, *rows, *cols, *begin / element_bytes});
    }
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("has a damaged safetensors head");
  }
  std::ranges::sort(matrices, {}, &SavedMatrix::first);
  std::int64_t end = 0;
  for (const SavedMatrix& matrix : matrices) {
    if (matrix.first != end) {
      throw std::runtime_error(fmt::format("has a gap or an overlap before {}", matrix.name));
    }
    end += matrix.elements();
  }
  if (end * element_bytes != data_bytes) {
    throw std::runtime_error(fmt::format("has {} bytes of data, its head speaks of {}", data_bytes,
                                         end * element_bytes));
  }
  return matrices;
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
