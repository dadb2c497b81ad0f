// Documents with prompts: a .jsonl file whose lines are {"prompt": "...", "completion": "..."}.
// Both are text, a byte is a word; the prompt may be missing.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline engine::inline train::inline data {

struct Document {
  std::string prompt;
  std::string completion;  // not empty
};

// Throws std::runtime_error with half a sentence that follows the file's name and says which line
// is wrong, or that there is no document.
std::vector<Document> parse_documents(const std::string& text);

}  // namespace fourfold::inline engine::inline train::inline data
