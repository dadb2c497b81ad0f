// The head of a safetensors file: 8 bytes of length, then JSON that says where each tensor lies in
// the data that follows. Ours hold fp32 matrices only.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fourfold::inline engine::inline train::inline checkpoint {

struct SavedMatrix {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t first = 0;  // its first element within the data
  std::int64_t elements() const { return rows * cols; }
  bool operator==(const SavedMatrix&) const = default;
};

// Length and JSON, padded with spaces so that the data begins at a multiple of 4,096 bytes. The
// matrices lie one after the other, without gaps.
std::string safetensors_head(const std::vector<SavedMatrix>& matrices,
                             const std::map<std::string, std::string>& metadata);

// Bytes of the head, from the file's first 8 bytes. Throws std::runtime_error if that is no length
// a head can have.
std::int64_t safetensors_head_bytes(const std::string& first_bytes, std::int64_t file_bytes);

// The JSON of a head, an object whose names are each said once and whose __metadata__, if any, is a
// map of text to text. Throws std::runtime_error with half a sentence that follows the file's name.
nlohmann::json safetensors_entries(const std::string& text);

// Inverse of safetensors_head, in the order of the data. Throws std::runtime_error with half a
// sentence that follows the file's name, if the head is damaged, holds anything but fp32 matrices,
// or if they do not fill the data.
std::vector<SavedMatrix> parse_safetensors_head(const std::string& head, std::int64_t data_bytes);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
