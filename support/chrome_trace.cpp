// Complete events ("ph": "X"), stamps in microseconds; see chrome_trace.hpp.
#include "support/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tuple>

namespace fourfold::inline support {

namespace {

// That every trace of ours begins with.
const std::string first_words = R"({"displayTimeUnit":"ms")";

}  // namespace

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
    names_ += (names_.empty() ? "\n" : ",\n") + event.dump();
  };
  meta("process_name", 0, "name", title);
  for (int thread = 0; thread < static_cast<int>(threads.size()); ++thread) {
    meta("thread_name", thread, "name", threads[static_cast<std::size_t>(thread)]);
    meta("thread_sort_index", thread, "sort_index", thread);
  }
}

void ChromeTrace::add(std::int64_t process, const TraceEvent& event) {
  const auto nanoseconds = [](double seconds) { return 125 * std::llround(seconds * 8e6); };
  const std::int64_t start = nanoseconds(event.start_s);
  events_.push_back(
      {process, start, std::max<std::int64_t>(start, nanoseconds(event.end_s)), event});
}

// By event. Of two that begin together the longer is the outer one.
std::vector<std::int64_t> ChromeTrace::nested_starts() const {
  using Place = std::tuple<std::int64_t, int, std::int64_t, std::int64_t, std::size_t>;
  const auto place = [this](std::size_t i, std::int64_t start) {
    const Placed& one = events_[i];
    return Place{one.process, one.event.thread, start, -one.end_ns, i};
  };
  std::set<Place> left;
  for (std::size_t i = 0; i < events_.size(); ++i) left.insert(place(i, events_[i].start_ns));
  std::vector<std::int64_t> starts(events_.size());
  std::vector<std::size_t> around;  // the events that the next one may lie in, outermost first
  while (!left.empty()) {
    const auto [process, thread, start, minus_end, i] = *left.begin();
    left.erase(left.begin());
    while (!around.empty()) {
      const Placed& outer = events_[around.back()];
      if (outer.process == process && outer.event.thread == thread && outer.end_ns > start) break;
      around.pop_back();
    }
    if (!around.empty() && events_[around.back()].end_ns < -minus_end) {
      left.insert(place(i, events_[around.back()].end_ns));
      continue;
    }
    starts[i] = start;
    around.push_back(i);
  }
  return starts;
}

void ChromeTrace::count(std::int64_t process, const std::string& title, double time_s,
                        const std::vector<std::pair<std::string, double>>& parts) {
  std::string arguments;
  for (const auto& [part, value] : parts) {
    arguments += fmt::format("{}\"{}\":{:.6f}", arguments.empty() ? "" : ",", part, value);
  }
  fmt::format_to(std::back_inserter(counts_),
                 ",\n{{\"ph\":\"C\",\"name\":\"{}\",\"pid\":{},\"ts\":{:.4f},\"args\":{{{}}}}}",
                 title, process, time_s * 1e6, arguments);
}

void refuse_no_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(first_words.size(), '\0');
  if (!file.read(start.data(), std::ssize(start)) && file.gcount() == 0) return;  // new, or empty
  if (start == first_words) return;
  throw std::runtime_error(path + " is there already and is no trace; give another --trace");
}

std::string ChromeTrace::text(const nlohmann::json& other) const {
  std::string text =
      first_words + (",\"otherData\":" + other.dump()) + ",\"traceEvents\":[" + names_;
  const std::vector<std::int64_t> starts = nested_starts();
  const auto microseconds = [](std::int64_t ns) {
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  };
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const auto& [process, start, end, event] = events_[i];
    fmt::format_to(std::back_inserter(text),
                   ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},"
                   "\"ts\":{},\"dur\":{},\"args\":{{{}}}}}",
                   event.title, event.kind, process, event.thread, microseconds(starts[i]),
                   microseconds(end - starts[i]), event.arguments);
  }
  return text + counts_ + "\n]}\n";
}

}  // namespace fourfold::inline support
