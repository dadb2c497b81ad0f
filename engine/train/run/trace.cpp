// Spans as complete events ("ph": "X"), stamps in microseconds; see trace.hpp.
#include "engine/train/run/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "schedule/fold/names.hpp"

namespace fourfold {

namespace {

class Events {
 public:
  Events(const Program& program, const ProcessGrid& grid)
      : program_(program), channels_(program.channels), grid_(grid) {}

  void name_threads(std::int64_t rank) {
    meta(rank, 0, "process_name", "name", fmt::format("rank {}", rank));
    meta(rank, 0, "thread_name", "name", "compute");
    meta(rank, 0, "thread_sort_index", "sort_index", 0);
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      const int thread = thread_of(static_cast<ChannelNumber>(i));
      meta(rank, thread, "thread_name", "name", name(channels_[i]));
      meta(rank, thread, "thread_sort_index", "sort_index", thread);
    }
  }

  void add(std::int64_t rank, const OpSpan& span) {
    const Op& op = program_.ops.at(static_cast<std::size_t>(span.op));
    if (!is_collective(op.kind)) {
      event(rank, {op_name(program_, op), "kernel", 0, span.start, span.end, span.op});
      return;
    }
    if (grid_.extent(op.axis) == 1) return;
    const ChannelNumber channel = op.channel;
    event(rank,
          {op_name(program_, op), "collective", thread_of(channel), span.start, span.end, span.op});
    if (span.waited > 0.0) {
      event(rank, {"wait for " + name(channels_[static_cast<std::size_t>(channel)]), "wait", 0,
                   span.end - span.waited, span.end, span.op});
    }
  }

  std::string text() const { return text_; }

 private:
  struct Event {
    std::string title;
    const char* kind;
    int thread;
    double start, end;
    std::int32_t op;
  };

  // Thread 0 computes.
  static int thread_of(ChannelNumber channel) { return 1 + channel; }

  void meta(std::int64_t rank, int thread, const char* what, const char* key,
            const nlohmann::json& value) {
    const nlohmann::json event{
        {"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", thread}, {"args", {{key, value}}}};
    text_ += (text_.empty() ? "\n" : ",\n") + event.dump();
  }

  // Names of values hold only letters, digits, points and blanks: nothing needs escaping.
  void event(std::int64_t rank, const Event& e) {
    fmt::format_to(std::back_inserter(text_),
                   ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},"
                   "\"ts\":{:.4f},\"dur\":{:.4f},\"args\":{{{}}}}}",
                   e.title, e.kind, rank, e.thread, e.start * 1e6, (e.end - e.start) * 1e6,
                   arguments(e.op));
  }

  std::string arguments(std::int32_t op) const {
    const auto after = std::upper_bound(
        program_.sections.begin(), program_.sections.end(), op,
        [](std::int32_t value, const Section& section) { return value < section.first_op; });
    if (after == program_.sections.begin()) return "";
    const Section& section = *std::prev(after);
    std::string text = fmt::format("\"section\":\"{}\"", section.name);
    if (section.layer >= 0) text += fmt::format(",\"layer\":{}", section.layer);
    if (section.micro_batch >= 0) text += fmt::format(",\"micro_batch\":{}", section.micro_batch);
    return text;
  }

  const Program& program_;
  std::vector<Channel> channels_;
  const ProcessGrid& grid_;
  std::string text_;
};

}  // namespace

std::vector<std::int64_t> traced_ranks(std::int64_t ranks, std::int64_t spans_each) {
  const std::int64_t room =
      std::clamp<std::int64_t>(most_spans / std::max<std::int64_t>(spans_each, 1), 1, ranks);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < room; ++i) chosen.push_back(i * ranks / room);
  return chosen;
}

std::string trace_json(const Program& program, const ProcessGrid& grid,
                       const std::vector<TracedRank>& ranks, const std::string& title) {
  Events events(program, grid);
  for (const TracedRank& rank : ranks) events.name_threads(rank.rank);
  for (const TracedRank& rank : ranks) {
    for (const OpSpan& span : rank.spans) events.add(rank.rank, span);
  }
  const nlohmann::json other{
      {"title", title},
      {"written", static_cast<std::int64_t>(ranks.size()) == grid.size()
                      ? "Every rank is written."
                      : "Of many ranks only some are written, evenly spread."},
      {"devices",
       "A process is one rank of the process grid, measured; collectives begin where "
       "they were started and end where they were waited for."}};
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + other.dump() + ",\"traceEvents\":[" +
         events.text() + "\n]}\n";
}

}  // namespace fourfold
