// Simulated spans as events; see trace.hpp.
#include "sim/explain/trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/cost/protocol.hpp"
#include "support/chrome_trace.hpp"

namespace fourfold::inline sim::inline explain {

namespace {

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
             in_words(name(detail.program().channels.at(static_cast<std::size_t>(span.channel))));
    case SpanKind::interference:
      return "interference of a collective";
    case SpanKind::skipped:
      break;
  }
  return "repetitions that are alike, not written";
}

std::string arguments_of(const Span& span, const ProgramDetail& detail) {
  const NamedSection& section = detail.sections().at(static_cast<std::size_t>(span.section));
  std::string text = place_arguments(
      section.name, span.kind == SpanKind::skipped ? -1 : section.layer, span.micro_batch);
  if (span.kind == SpanKind::collective) {
    const TimedCollective& timed =
        detail.program().collectives.at(static_cast<std::size_t>(span.collective));
    text += fmt::format(",\"algorithm\":\"{}\",\"protocol\":\"{}\",\"sent_B\":{:.0f}",
                        name(timed.algorithm), name(timed.protocol), timed.cost.work.value);
  }
  return text;
}

TraceEvent event_of(const Span& span, const ProgramDetail& detail) {
  return {title_of(span, detail), name(span.kind), thread_of(span),
          span.start.value,       span.end.value,  arguments_of(span, detail)};
}

std::vector<std::pair<std::string, double>> counts_of(const MemoryParts& parts) {
  std::vector<std::pair<std::string, double>> counts;
  for (int part = 0; part < memory_part_count; ++part) {
    const auto one = static_cast<MemoryPart>(part);
    counts.emplace_back(name(one), parts[one].value / 1e9);
  }
  return counts;
}

// Compute, and a thread for each channel.
std::vector<std::string> threads(const std::vector<Channel>& channels) {
  std::vector<std::string> titles{"compute"};
  for (const Channel& channel : channels) titles.push_back(in_words(name(channel)));
  return titles;
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
  ChromeTrace trace;
  for (const TracedDevice& device : devices) {
    trace.name_process(device.rank, device.role, threads(detail.program().channels));
  }
  for (const TracedDevice& device : devices) {
    for (const Span& span : device.spans) trace.add(device.rank, event_of(span, detail));
    for (const MemoryAt& moment : device.memory) {
      trace.count(device.rank, "memory, GB", moment.time.value, counts_of(moment.parts));
    }
  }
  return trace.text(other);
}

}  // namespace fourfold::inline sim::inline explain
