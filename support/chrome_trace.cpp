// Complete events ("ph": "X"), stamps in microseconds; see chrome_trace.hpp.
#include "support/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace fourfold::inline support {

std::string place_arguments(const std::string& section, std::int64_t layer,
                            std::int64_t micro_batch) {
  std::string text = fmt::format("\"section\":\"{}\"", section);
  if (layer >= 0) text += fmt::format(",\"layer\":{}", layer);
  if (micro_batch >= 0) text += fmt::format(",\"micro_batch\":{}", micro_batch);
  return text;
}

std::string in_words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

void ChromeTrace::name_process(std::int64_t process, const std::string& title,
                               const std::vector<std::string>& threads) {
  const auto meta = [&](const char* what, int thread, const char* key,
                        const nlohmann::json& value) {
    const nlohmann::json event{
        {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{key, value}}}};
    events_ += (events_.empty() ? "\n" : ",\n") + event.dump();
  };
  meta("process_name", 0, "name", title);
  for (int thread = 0; thread < static_cast<int>(threads.size()); ++thread) {
    meta("thread_name", thread, "name", threads[static_cast<std::size_t>(thread)]);
    meta("thread_sort_index", thread, "sort_index", thread);
  }
}

void ChromeTrace::add(std::int64_t process, const TraceEvent& event) {
  fmt::format_to(std::back_inserter(events_),
                 ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},"
                 "\"ts\":{:.4f},\"dur\":{:.4f},\"args\":{{{}}}}}",
                 event.title, event.kind, process, event.thread, event.start_s * 1e6,
                 (event.end_s - event.start_s) * 1e6, event.arguments);
}

std::string ChromeTrace::text(const nlohmann::json& other) const {
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + other.dump() + ",\"traceEvents\":[" +
         events_ + "\n]}\n";
}

}  // namespace fourfold::inline support
