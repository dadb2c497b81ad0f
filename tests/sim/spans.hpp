// What holds of the spans of every timeline, estimated or simulated.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/explain/timeline.hpp"

namespace fourfold::tests {

inline const NamedSection& section_of(const Span& span, const ProgramDetail& detail) {
  return detail.sections().at(static_cast<std::size_t>(span.section));
}

// Whatever is no collective comes one after the other, without a hole. Gives the end of the last.
inline double expect_whole(const std::vector<Span>& spans, double tolerance,
                           const std::string& words) {
  double now = 0.0;
  for (const Span& span : spans) {
    if (span.kind == SpanKind::collective) continue;
    EXPECT_NEAR(span.start.value, now, tolerance) << words;
    EXPECT_GE(span.end.value, span.start.value - 1e-12) << words;
    now = span.end.value;
  }
  return now;
}

// A stage that has nothing to do waits for the message of the turn that it does next. Gives how
// many such waits stand before a turn of another part than the turn before.
inline std::int64_t expect_own_messages(const std::vector<Span>& spans, const ProgramDetail& detail,
                                        const std::string& words) {
  std::int64_t turned = 0;
  std::string before, messages;
  for (const Span& span : spans) {
    const NamedSection& section = section_of(span, detail);
    if (span.kind == SpanKind::collective || section.micro_batch < 0) continue;
    if (span.kind == SpanKind::kernel) {
      if (!messages.empty()) {
        EXPECT_TRUE(messages.starts_with("pipe_" + section.name)) << words << ": " << messages;
        if (section.name != before) ++turned;
      }
      before = section.name;
      messages.clear();
    }
    if (span.kind != SpanKind::wait) continue;
    const Channel& channel = detail.program().channels[static_cast<std::size_t>(span.channel)];
    if (channel.axis == Axis::pipe) messages = name(channel);
  }
  return turned;
}

}  // namespace fourfold::tests
