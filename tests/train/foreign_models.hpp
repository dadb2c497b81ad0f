// Models in Hugging Face's layout, for tests that write and read folders of others: their numbers,
// and files of tensors as the bytes they are.
#pragma once

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/train/checkpoint/foreign_writer.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {

// Every element is what `number` says next.
template <typename Number>
Matrices matrices_of(const Model& model, Number number) {
  Matrices matrices;
  for (const ForeignTensor& tensor : foreign_tensors(model, "")) {
    WholeMatrix& matrix = matrices[tensor.matrix];
    matrix = {tensor.matrix_rows, tensor.matrix_cols, {}};
    for (std::int64_t i = 0; i < matrix.rows * matrix.cols; ++i) matrix.values.push_back(number());
  }
  return matrices;
}

// Eight bytes of length, and the text.
inline std::string as_head(const std::string& text) {
  const std::uint64_t length = text.size();
  std::string head(8, '\0');
  std::memcpy(head.data(), &length, sizeof length);
  return head + text;
}

inline void write_bytes(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// The parts of a file of tensors.
struct TensorFile {
  explicit TensorFile(const std::string& path) {
    const std::string whole = content_of(path);
    std::uint64_t length = 0;
    std::memcpy(&length, whole.data(), sizeof length);
    head_bytes = static_cast<std::int64_t>(length);
    head = nlohmann::json::parse(whole.substr(8, length));
    data = whole.substr(8 + length);
  }
  void write(const std::string& path) const { write_bytes(path, as_head(head.dump()) + data); }
  void add(const std::string& name, const std::string& type, const std::string& bytes) {
    head[name] = {{"dtype", type},
                  {"shape", {bytes.size()}},
                  {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }

  std::int64_t head_bytes = 0;
  nlohmann::json head;
  std::string data;
};

}  // namespace fourfold::tests
