// Documents, a line of JSON each: {"prompt": "...", "completion": "..."}, whose prompt may be
// missing; {"text": "..."}; or a conversation, {"messages": [{"role": "user", "content": "..."},
// ...]}. Whatever else stands beside the last two, but not the key of another reading. They are
// text, a byte is a word.
#pragma once

#include <string>
#include <vector>

namespace fourfold::inline engine::inline train::inline data {

struct Document {
  std::string prompt;
  std::string completion;  // not empty, but after a conversation's last answer
  bool ends = true;        // what follows belongs to it where it does not: one answer of several
};

// Whether a file's first line is such a document, so that the file is read as documents.
bool begins_with_document(const std::string& text);
// Whether a first line that may be one goes on behind this beginning of a file.
bool cuts_its_first_line(const std::string& beginning);

// A message of a conversation is "ROLE: CONTENT" and a line's end; what the assistant says is
// learnt. Throws std::runtime_error with half a sentence that follows the file's name and says
// which line is wrong, or that there is no document.
std::vector<Document> parse_documents(const std::string& text);

}  // namespace fourfold::inline engine::inline train::inline data
