// Lines of failures; see failure_log.hpp.
#include "scaling/study/failure_log.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/study/provenance.hpp"
#include "support/own_file.hpp"

namespace fourfold {
namespace {

constexpr const char* format = "fourfold-failure-1";

}  // namespace

void log_failure(const std::string& path, const std::string& key, const std::string& why) {
  const nlohmann::json line{
      {"format", format}, {"key", key}, {"why", why}, {"time", provenance_now().time}};
  append_own_line(path, line.dump());
}

std::map<std::string, std::string> logged_failures(const std::string& path) {
  std::map<std::string, std::string> reasons;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!value.is_object() || value.value("format", "") != format) continue;
    reasons[value.value("key", "")] = value.value("why", "");
  }
  return reasons;
}

}  // namespace fourfold
