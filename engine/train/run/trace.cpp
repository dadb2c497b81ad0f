// Measured spans as events; see trace.hpp.
#include "engine/train/run/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "schedule/fold/names.hpp"
#include "support/chrome_trace.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

// Compute, and a thread for each channel.
std::vector<std::string> threads(const std::vector<Channel>& channels) {
  std::vector<std::string> titles{"compute"};
  for (const Channel& channel : channels) titles.push_back(in_words(name(channel)));
  return titles;
}

std::string arguments_of(const Program& program, std::int32_t op) {
  const auto after = std::upper_bound(
      program.sections.begin(), program.sections.end(), op,
      [](std::int32_t value, const Section& section) { return value < section.first_op; });
  if (after == program.sections.begin()) return "";
  const Section& section = *std::prev(after);
  return place_arguments(section.name, section.layer, section.micro_batch);
}

// What a span is on the screen: nothing along an axis of 1, its collective or message and the wait
// for it.
std::vector<TraceEvent> events_of(const Program& program, const ProcessGrid& grid,
                                  const OpSpan& span) {
  const Op& op = program.ops.at(static_cast<std::size_t>(span.op));
  TraceEvent event{op_name(program, op), "kernel", 0,
                   span.start,           span.end, arguments_of(program, span.op)};
  if (op.kind == OpKind::choose) event.kind = "wait";  // for a message that a turn begins with
  if (!is_posted(op.kind)) return {event};
  if (grid.extent(op.axis) == 1) return {};
  event.kind = is_message(op.kind) ? "message" : "collective";
  event.thread = 1 + op.channel;
  if (span.waited <= 0.0) return {event};
  return {event,
          TraceEvent{
              "wait for " + in_words(name(program.channels[static_cast<std::size_t>(op.channel)])),
              "wait", 0, span.end - span.waited, span.end, event.arguments}};
}

}  // namespace

std::vector<std::int64_t> traced_ranks(std::int64_t ranks, std::int64_t spans_each) {
  const std::int64_t room =
      std::clamp<std::int64_t>(most_spans / std::max<std::int64_t>(spans_each, 1), 1, ranks);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < room; ++i) chosen.push_back(i * ranks / room);
  return chosen;
}

std::string trace_json(const std::vector<Program>& programs, const ProcessGrid& grid,
                       const std::vector<TracedRank>& ranks, const std::string& title) {
  ChromeTrace trace;
  const auto program_of = [&](const TracedRank& rank) -> const Program& {
    return programs.at(static_cast<std::size_t>(stage_of(grid, rank.rank).index));
  };
  for (const TracedRank& rank : ranks) {
    trace.name_process(rank.rank, fmt::format("rank {}", rank.rank),
                       threads(program_of(rank).channels));
  }
  for (const TracedRank& rank : ranks) {
    for (const OpSpan& span : rank.spans) {
      for (const TraceEvent& event : events_of(program_of(rank), grid, span)) {
        trace.add(rank.rank, event);
      }
    }
  }
  const nlohmann::json other{
      {"title", title},
      {"written", static_cast<std::int64_t>(ranks.size()) == grid.size()
                      ? "Every rank is written."
                      : "Of many ranks only some are written, evenly spread."},
      {"devices",
       "A process is one rank of the process grid, measured; collectives and messages begin where "
       "they were started, or the one before them on their channel ended, and end where they were "
       "waited for."}};
  return trace.text(other);
}

}  // namespace fourfold::inline engine::inline train::inline run
