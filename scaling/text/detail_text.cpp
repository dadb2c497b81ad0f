// Tables of a replay's detail; see detail_text.hpp.
#include "scaling/text/detail_text.hpp"

#include <fmt/format.h>

#include "scaling/words/amounts.hpp"
#include "scaling/words/percents.hpp"
#include "scaling/words/text_table.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline text {
namespace {

std::string links(const ReplayDetail& detail) {
  if (detail.links.empty()) return "";
  TextTable table;
  table.columns = {{"links", "", Align::left}, {"capacity", "GB/s"},        {"in use", ""},
                   {"all carry", "TB"},        {"mean use", "%"},           {"busiest", "%"},
                   {"busiest carries", "GB"},  {"busiest", "", Align::left}};
  for (const LinkUse& use : detail.links) {
    table.rows.push_back({use.link_class, fmt::format("{:.1f}", use.capacity.value / 1e9),
                          fmt::to_string(use.links), fmt::format("{:.3f}", use.bytes.value / 1e12),
                          percent(use.mean_utilisation), percent(use.busiest_utilisation),
                          fmt::format("{:.2f}", use.busiest_bytes.value / 1e9), use.busiest});
  }
  return "Links by kind and width, per direction; use is bytes / (capacity x step):\n" +
         format(table) + '\n';
}

bool anybody_waits(const ReplayDetail& detail) {
  for (const ClassUse& use : detail.classes) {
    for (Seconds late : use.late) {
      if (late.value > 0.0) return true;
    }
  }
  return false;
}

std::string waiting(const ReplayDetail& detail, const std::vector<Channel>& channels, Width width) {
  if (!anybody_waits(detail)) return "";
  const auto seconds = [&](Seconds time) { return seconds_text(time, detail.longest_compute); };
  TextTable table;
  table.columns = {{"devices", "", Align::left},
                   {"count", ""},
                   {"compute", "s"},
                   {"communication", "exposed, s"}};
  for (const Channel& channel : channels) {
    table.columns.push_back({fmt::format("waits on {}", name(channel)), "s", Align::right,
                             static_cast<int>(table.columns.size())});
  }
  for (const ClassUse& use : detail.classes) {
    Seconds moving;
    for (std::size_t c = 0; c < channels.size(); ++c) moving += use.exposed[c] - use.late[c];
    table.rows.push_back(
        {use.name, fmt::to_string(use.devices), seconds(use.compute), seconds(moving)});
    for (Seconds late : use.late) table.rows.back().push_back(seconds(late));
  }
  std::string text = wrapped(
                         "Who waits for whom, means over devices; a device waits on a lane while "
                         "its group's collective cannot start, as a member comes later:\n") +
                     format(table, width);
  if (detail.latecomers.empty()) return text + '\n';
  std::string last = "Last of a group to come, most waited for:";
  for (const Latecomer& one : detail.latecomers) {
    last += fmt::format("{} rank {} ({} s a device)", &one == &detail.latecomers.front() ? "" : ",",
                        one.rank, seconds(one.waited));
  }
  return text + wrapped(last + ".") +
         "\nTheir own groups are held up by them, and hold up others in turn.\n\n";
}

}  // namespace

std::string detail_text(const ReplayDetail& detail, const std::vector<Channel>& channels,
                        Width width) {
  return links(detail) + waiting(detail, channels, width);
}

}  // namespace fourfold::inline scaling::inline text
