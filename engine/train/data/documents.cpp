// Lines of JSON as documents; see documents.hpp.
#include "engine/train/data/documents.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "support/json_text.hpp"

namespace fourfold::inline engine::inline train::inline data {

namespace {

constexpr const char* form = R"({"prompt": "...", "completion": "..."})";

std::string text_at(const nlohmann::json& document, const char* key, std::int64_t line) {
  const auto found = document.find(key);
  if (found == document.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  throw std::runtime_error(fmt::format("has a {} in line {} that is no text", key, line));
}

}  // namespace

std::vector<Document> parse_documents(const std::string& text) {
  std::vector<Document> documents;
  std::istringstream lines(text);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::optional<nlohmann::json> document = json_in(line);
    if (!document || !document->is_object()) {
      throw std::runtime_error(fmt::format("has a line {} that is not {}", number, form));
    }
    for (const auto& [key, value] : document->items()) {
      if (key == "prompt" || key == "completion") continue;
      throw std::runtime_error(
          fmt::format("has '{}' in line {}; a document is {}", key, number, form));
    }
    documents.push_back(
        {text_at(*document, "prompt", number), text_at(*document, "completion", number)});
    if (documents.back().completion.empty()) {
      throw std::runtime_error(fmt::format("has no completion in line {}", number));
    }
  }
  if (documents.empty()) throw std::runtime_error("holds no document");
  return documents;
}

}  // namespace fourfold::inline engine::inline train::inline data
