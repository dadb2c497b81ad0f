// Sums over channels; see time_parts.hpp.
#include "scaling/records/time_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fourfold::inline scaling::inline records {

std::vector<TimePart> time_parts(const Outcome& outcome) {
  std::vector<TimePart> parts{{"compute", outcome.compute}};
  for (Axis axis : {Axis::x, Axis::y, Axis::z, Axis::data}) {
    parts.push_back({std::string("exposed ") + name(axis), outcome.exposed_along(axis)});
  }
  parts.push_back({"messages", outcome.exposed_along(Axis::pipe) - outcome.bubble});
  parts.push_back({"bubble", outcome.bubble});
  Seconds sum;
  for (const TimePart& part : parts) sum += part.seconds;
  parts.push_back({"other", outcome.total - sum});
  constexpr double rounding = 1e-9;  // of the total
  for (TimePart& part : parts) {
    if (std::abs(part.seconds.value) < rounding * outcome.total.value) part.seconds = {};
  }
  return parts;
}

std::string largest_parts(const Outcome& outcome) {
  constexpr std::size_t shown = 3;
  constexpr double least = 0.005;  // of the total
  std::vector<TimePart> parts = time_parts(outcome);
  std::ranges::stable_sort(
      parts, [](const TimePart& a, const TimePart& b) { return b.seconds < a.seconds; });
  std::vector<std::string> words;
  for (const TimePart& part : parts) {
    const double share = part.seconds / outcome.total;
    if (words.size() == shown || share < least) break;
    words.push_back(fmt::format("{} {:.0f} %", part.name, 100.0 * share));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace fourfold::inline scaling::inline records
