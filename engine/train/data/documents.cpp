// Lines of JSON as documents; see documents.hpp.
#include "engine/train/data/documents.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/json_text.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline engine::inline train::inline data {

namespace {

constexpr const char* form =
    R"({"prompt": "...", "completion": "..."}, {"text": "..."} or {"messages": [...]})";
constexpr const char* assistant = "assistant";

std::string text_at(const nlohmann::json& document, const char* key, std::int64_t line) {
  const auto found = document.find(key);
  if (found == document.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  throw std::runtime_error(fmt::format("has a {} in line {} that is no text", key, line));
}

// Two readings at once would learn what the other leaves out. A prompt beside messages is said in
// them, and what is null is not there.
void refuse_two_readings(const nlohmann::json& document, bool is_conversation, std::int64_t line) {
  const auto has = [&](const char* key) {
    const auto found = document.find(key);
    return found != document.end() && !found->is_null();
  };
  if (!is_conversation && !has("text")) return;
  const char* reading = is_conversation ? "messages" : "text";
  for (const char* other : {is_conversation ? "text" : "prompt", "completion"}) {
    if (!has(other)) continue;
    throw std::runtime_error(fmt::format("has both '{}' and '{}' in line {}; a document is {}",
                                         reading, other, line, form));
  }
}

void take_completion(const nlohmann::json& document, std::int64_t line,
                     std::vector<Document>& documents) {
  for (const auto& [key, value] : document.items()) {
    if (key == "prompt" || key == "completion") continue;
    throw std::runtime_error(fmt::format("has '{}' in line {}; a document is {}", key, line, form));
  }
  documents.push_back({text_at(document, "prompt", line), text_at(document, "completion", line)});
  if (!documents.back().completion.empty()) return;
  throw std::runtime_error(fmt::format("has no completion in line {}", line));
}

// One document for each answer, with all that was said since the one before as its prompt.
void take_conversation(const nlohmann::json& messages, std::int64_t line,
                       std::vector<Document>& documents) {
  const std::size_t before = documents.size();
  std::string said;
  for (const nlohmann::json& message : messages) {
    const std::string role = message.is_object() ? text_at(message, "role", line) : "";
    if (role.empty()) {
      throw std::runtime_error(fmt::format("has a message without a role in line {}", line));
    }
    const std::string content = text_at(message, "content", line);
    said += role + ": ";
    if (role == assistant && !content.empty()) {
      documents.push_back({said, content + '\n', false});
      said.clear();
    } else {
      said += content + '\n';
    }
  }
  if (documents.size() == before) {
    throw std::runtime_error(
        fmt::format("has a conversation in line {} in which no {} says anything", line, assistant));
  }
  if (!said.empty()) documents.push_back({said, ""});
  documents.back().ends = true;
}

// From its first letter on, where that is a document's; a mark of UTF-8 is no letter.
std::string_view first_line_of(std::string_view text) {
  text = without_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') return {};
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

bool begins_with_document(const std::string& text) {
  const std::optional<nlohmann::json> first =
      json_in(std::string(first_line_of(text)), ZeroLetters::kept);
  if (!first || !first->is_object()) return false;
  return first->contains("text") || first->contains("messages") || first->contains("completion");
}

bool cuts_its_first_line(const std::string& beginning) {
  const std::string_view line = first_line_of(beginning);
  if (line.empty() || line.data() + line.size() != beginning.data() + beginning.size())
    return false;
  const std::size_t second = line.find_first_not_of(" \t\r", 1);
  return second == std::string_view::npos || line[second] == '"';
}

std::vector<Document> parse_documents(const std::string& text) {
  std::vector<Document> documents;
  std::istringstream lines(text);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::optional<nlohmann::json> document = json_in(line, ZeroLetters::kept);
    if (!document || !document->is_object()) {
      throw std::runtime_error(fmt::format("has a line {} that is not {}", number, form));
    }
    const auto messages = document->find("messages");
    const bool is_conversation = messages != document->end() && messages->is_array();
    refuse_two_readings(*document, is_conversation, number);
    if (is_conversation) {
      take_conversation(*messages, number, documents);
    } else if (document->contains("text")) {
      documents.push_back({"", text_at(*document, "text", number)});
      if (documents.back().completion.empty()) documents.pop_back();
    } else {
      take_completion(*document, number, documents);
    }
  }
  if (documents.empty()) throw std::runtime_error("holds no document");
  return documents;
}

}  // namespace fourfold::inline engine::inline train::inline data
