// Products of divisors around the count asked for; see nearby.hpp.
#include "scaling/find/nearby.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "scaling/find/search_space.hpp"
#include "schedule/models/fit.hpp"
#include "support/divisors.hpp"
#include "support/prose.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

constexpr int most_searched = 3;  // counts on either side, each with a whole search

bool fits(const Question& question, const Platform& platform) {
  const Point pattern = point_of(question, ProcessGrid(question.devices, 1, 1, 1), 1);
  SearchSpace space = search_space(question, platform);
  space.micro_batches = question.micro_batches;
  space.faster_than = Seconds{std::numeric_limits<double>::infinity()};
  return !search(pattern, platform, space).feasible.empty();
}

// The first of the counts, in their order, that fits.
template <typename Counts>
std::optional<std::int64_t> first_fit(const Counts& counts, Question question,
                                      const Platform& platform) {
  int searched = 0;
  for (std::int64_t count : counts) {
    if (searched++ == most_searched) break;
    question.devices = count;
    if (fits(question, platform)) return count;
  }
  return std::nullopt;
}

std::string devices_nearby(const Question& question, const Platform& platform) {
  std::set<std::int64_t> more;
  std::set<std::int64_t, std::greater<>> fewer;
  const std::int64_t micro_batches = question.micro_batches.value_or(1);
  if (question.global_batch % micro_batches != 0) return "";
  const std::set<std::int64_t> parts = model_parts(question.model);
  for (std::int64_t copies : divisors(question.global_batch / micro_batches)) {
    for (std::int64_t part : parts) {
      if (part > platform.devices() / copies) break;
      const std::int64_t count = part * copies;
      if (count > question.devices) more.insert(count);
      if (count < question.devices) fewer.insert(count);
    }
  }
  const auto below = first_fit(fewer, question, platform);
  const auto above = first_fit(more, question, platform);
  if (below && above) return fmt::format("{} or {} devices would fit", *below, *above);
  if (!below && !above) return "";
  return counted(below ? *below : *above, "device") + " would fit";
}

// The nearest multiple of what a grid of these devices shares the batch among.
std::string batch_nearby(Question question, const Platform& platform) {
  const std::int64_t asked = question.global_batch;
  const std::int64_t most = most_batch_tokens / question.model.sequence;
  std::optional<std::int64_t> best;
  for (std::int64_t part : model_parts(question.model)) {
    if (question.devices % part != 0) continue;
    const std::int64_t shares = question.devices / part * question.micro_batches.value_or(1);
    const std::int64_t batch = std::max<std::int64_t>((asked + shares / 2) / shares, 1) * shares;
    if (batch == asked || batch > most) continue;
    if (!best || std::abs(batch - asked) < std::abs(*best - asked)) best = batch;
  }
  if (!best) return "";
  question.global_batch = *best;
  if (!fits(question, platform)) return "";
  return fmt::format("{} with a batch of {} tokens ({})", counted(question.devices, "device"),
                     *best * question.model.sequence, counted(*best, "sequence"));
}

}  // namespace

std::string nearby(const Question& question, const Platform& platform) {
  const std::string devices = devices_nearby(question, platform);
  const std::string batch = batch_nearby(question, platform);
  if (batch.empty()) return devices;
  return devices.empty() ? batch + " would fit" : devices + ", and so would " + batch;
}

}  // namespace fourfold::inline scaling::inline find
