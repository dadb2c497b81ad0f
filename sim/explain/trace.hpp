// Timelines as a Chrome/Perfetto trace: JSON that chrome://tracing and ui.perfetto.dev open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/explain/memory_course.hpp"
#include "sim/explain/timeline.hpp"

namespace fourfold::inline sim::inline explain {

struct TracedDevice {
  std::int64_t rank = 0;
  std::string role;  // "rank 0", "slowest device": what people read beside its threads
  std::vector<Span> spans;
  std::vector<MemoryAt> memory = {};
};

// A trace with every repetition of every layer has at most about so many spans: some 30 MB.
inline constexpr std::int64_t most_spans = 150'000;

// Whether `devices` timelines of a program can have every repetition.
Repeated repeated_in_trace(const ProgramDetail& detail, std::int64_t devices);

// A process for each device; its threads are compute and the channels, "z gather" and so on, and
// its memory by role is a counter.
std::string trace_json(const std::vector<TracedDevice>& devices, const ProgramDetail& detail,
                       const std::string& title);

}  // namespace fourfold::inline sim::inline explain
