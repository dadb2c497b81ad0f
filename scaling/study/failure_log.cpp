// Lines of failures; see failure_log.hpp.
#include "scaling/study/failure_log.hpp"

#include <nlohmann/json.hpp>

#include "scaling/records/provenance.hpp"
#include "support/json_text.hpp"
#include "support/own_file.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

constexpr const char* format = "fourfold-failure-1";

}  // namespace

void log_failure(const std::string& path, const std::string& key, const std::string& why,
                 Failing failing) {
  nlohmann::json line{
      {"format", format}, {"key", key}, {"why", why}, {"time", provenance_now().time}};
  if (failing == Failing::no) line["answer"] = "no";
  append_own_line(path, json_text(line));
}

std::map<std::string, std::string> logged_failures(const std::string& path, Failing failing) {
  std::map<std::string, std::string> reasons;
  const auto text_at = [](const nlohmann::json& entry, const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const TextLine& line : read_own_lines(path, "the failures in")) {
    const std::optional<nlohmann::json> value = json_in(line.text);
    if (!value || !value->is_object() || text_at(*value, "format") != format) continue;
    const std::string key = text_at(*value, "key");
    reasons.erase(key);
    if (failing == Failing::no && text_at(*value, "answer") != "no") continue;
    reasons[key] = text_at(*value, "why");
  }
  return reasons;
}

}  // namespace fourfold::inline scaling::inline study
