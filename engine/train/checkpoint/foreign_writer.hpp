// Folders in the layout of Hugging Face's transformers written: files of tensors as they came or
// anew, the index, config.json, and the files that were carried along.
#pragma once

#include <cstdint>
#include <string>

#include "engine/train/checkpoint/hugging_face.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// Where heads of files were kept, the same files; else files of at most so many bytes of tensors
// (one tensor at least each). Types that are not said are fp32. Throws std::runtime_error if the
// folder is not empty or cannot be written; then nothing is left in it.
void write_foreign(const std::string& folder, const ForeignCheckpoint& what,
                   const Matrices& matrices, std::int64_t most_bytes);

// Whether the heads that were kept are those of the tensors, and of nothing else: then the same
// files come out.
bool comes_out_as_it_came(const ForeignCheckpoint& what);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
