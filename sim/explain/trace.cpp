// Spans as complete events ("ph": "X"), stamps in microseconds; see trace.hpp.
#include "sim/explain/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/cost/protocol.hpp"

namespace fourfold {

namespace {

// "z gather"
std::string title_of(const Channel& channel) {
  std::string title = name(channel);
  std::ranges::replace(title, '_', ' ');
  return title;
}

int thread_of(const Span& span) {
  return span.kind == SpanKind::collective ? 1 + span.channel : 0;
}

std::string title_of(const Span& span, const ProgramDetail& detail) {
  switch (span.kind) {
    case SpanKind::kernel:
    case SpanKind::collective:
      return detail.names().at(static_cast<std::size_t>(span.name));
    case SpanKind::wait:
      return "wait for " +
             title_of(detail.program().channels.at(static_cast<std::size_t>(span.channel)));
    case SpanKind::interference:
      return "interference of a collective";
    case SpanKind::skipped:
      break;
  }
  return "repetitions that are alike, not written";
}

std::string arguments_of(const Span& span, const ProgramDetail& detail) {
  const NamedSection& section = detail.sections().at(static_cast<std::size_t>(span.section));
  std::string text = fmt::format("\"section\":\"{}\"", section.name);
  if (section.layer >= 0 && span.kind != SpanKind::skipped) {
    text += fmt::format(",\"layer\":{}", section.layer);
  }
  if (span.micro_batch >= 0) text += fmt::format(",\"micro_batch\":{}", span.micro_batch);
  if (span.kind == SpanKind::collective) {
    const TimedCollective& timed =
        detail.program().collectives.at(static_cast<std::size_t>(span.collective));
    text += fmt::format(",\"algorithm\":\"{}\",\"protocol\":\"{}\",\"sent_B\":{:.0f}",
                        name(timed.algorithm), name(timed.protocol), timed.cost.work.value);
  }
  return text;
}

// Names of values hold only letters, digits, points and blanks: nothing needs escaping.
void add_event(const Span& span, std::int64_t rank, const ProgramDetail& detail,
               std::string& text) {
  fmt::format_to(std::back_inserter(text),
                 ",\n{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},"
                 "\"ts\":{:.4f},\"dur\":{:.4f},\"args\":{{{}}}}}",
                 title_of(span, detail), name(span.kind), rank, thread_of(span),
                 span.start.value * 1e6, (span.end - span.start).value * 1e6,
                 arguments_of(span, detail));
}

void name_threads(const TracedDevice& device, const std::vector<Channel>& channels,
                  std::string& text) {
  const auto meta = [&](const char* what, int thread, const char* key,
                        const nlohmann::json& value) {
    const nlohmann::json event{{"ph", "M"},
                               {"name", what},
                               {"pid", device.rank},
                               {"tid", thread},
                               {"args", {{key, value}}}};
    text += (text.ends_with("[") ? "\n" : ",\n") + event.dump();
  };
  meta("process_name", 0, "name", device.role);
  meta("thread_name", 0, "name", "compute");
  meta("thread_sort_index", 0, "sort_index", 0);
  for (int thread = 1; thread <= static_cast<int>(channels.size()); ++thread) {
    meta("thread_name", thread, "name", title_of(channels[static_cast<std::size_t>(thread) - 1]));
    meta("thread_sort_index", thread, "sort_index", thread);
  }
}

bool leaves_out(const std::vector<TracedDevice>& devices) {
  for (const TracedDevice& device : devices) {
    for (const Span& span : device.spans) {
      if (span.kind == SpanKind::skipped) return true;
    }
  }
  return false;
}

}  // namespace

Repeated repeated_in_trace(const ProgramDetail& detail, std::int64_t devices) {
  return detail.span_count() * devices <= most_spans ? Repeated::all : Repeated::sampled;
}

std::string trace_json(const std::vector<TracedDevice>& devices, const ProgramDetail& detail,
                       const std::string& title) {
  const nlohmann::json other{
      {"title", title},
      {"written", leaves_out(devices) ? "Of layers and micro-batches that are alike only some are "
                                        "written, at their true times; spans 'repetitions that are "
                                        "alike, not written' stand for the others."
                                      : "Every layer and micro-batch is written."},
      {"devices", "A process is one device; its number is its rank in the process grid."}};
  std::string text =
      "{\"displayTimeUnit\":\"ms\",\"otherData\":" + other.dump() + ",\"traceEvents\":[";
  for (const TracedDevice& device : devices) {
    name_threads(device, detail.program().channels, text);
  }
  for (const TracedDevice& device : devices) {
    for (const Span& span : device.spans) add_event(span, device.rank, detail, text);
  }
  return text + "\n]}\n";
}

}  // namespace fourfold
