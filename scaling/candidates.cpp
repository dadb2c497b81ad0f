// From a question to its candidates; see candidates.hpp.
#include "scaling/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "scaling/interrupt.hpp"

namespace fourfold {
namespace {

// The estimates of one grid, for the micro-batches asked for or for all that divide its batch.
SearchResult candidates_of_grid(const Question& question, const Platform& platform) {
  const ProcessGrid& grid = *question.grid;
  if (grid.size() != question.devices) {
    throw FindingFailed(
        fmt::format("grid {} has {} devices, not {}; choose a grid whose "
                    "extents multiply to the number of devices",
                    grid.str(), grid.size(), question.devices));
  }
  const std::int64_t groups = grid.extent(Axis::z) * grid.extent(Axis::data);
  const std::int64_t local_batch = std::max<std::int64_t>(question.global_batch / groups, 1);
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= local_batch; ++count) {
    if (local_batch % count == 0) counts.push_back(count);
  }
  if (question.micro_batches) counts = {*question.micro_batches};

  SearchResult result;
  result.tried = static_cast<std::int64_t>(counts.size());
  const Bytes limit = platform.processor.memory * platform.processor.usable_memory;
  Bytes least{limit.value * 1e9};
  for (std::int64_t count : counts) {
    const std::string reason = misfit(question.model, grid, question.global_batch, count);
    if (!reason.empty()) throw FindingFailed(reason);
    const Estimate found = estimate(point_of(question, grid, count), platform);
    least = std::min(least, found.memory.peak);
    if (found.memory.peak <= limit) {
      result.feasible.push_back({grid, count, found});
    } else {
      ++result.rejected[Rejection::memory];
    }
  }
  if (result.feasible.empty()) {
    throw FindingFailed(fmt::format(
        "{} on grid {} needs at least {:.1f} GB per device, but {} leaves {:.1f} GB of {:.0f} GB",
        question.model.name, grid.str(), least.value / 1e9, platform.name, limit.value / 1e9,
        platform.processor.memory.value / 1e9));
  }
  std::stable_sort(result.feasible.begin(), result.feasible.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.estimate.outcome.total < b.estimate.outcome.total;
                   });
  return result;
}

}  // namespace

SearchResult candidates(const Question& question, const Platform& platform, const Watch& watch) {
  if (question.devices < 1) throw FindingFailed("the number of devices must be at least 1");
  if (question.devices > platform.devices()) {
    throw FindingFailed(fmt::format("{} has {} devices, {} are too many", platform.name,
                                    platform.devices(), question.devices));
  }
  if (question.grid) return candidates_of_grid(question, platform);

  const Point pattern = point_of(question, ProcessGrid(question.devices, 1, 1, 1), 1);
  SearchResult result =
      search(pattern, platform, question.devices, [&](std::int64_t done, std::int64_t all) {
        stop_if_interrupted();
        watch(fmt::format("estimated {} of {} candidates", done, all),
              static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(all, 1)));
      });
  if (question.micro_batches) {
    std::erase_if(result.feasible, [&](const Candidate& candidate) {
      return candidate.micro_batches != *question.micro_batches;
    });
  }
  if (result.feasible.empty()) {
    const std::string count = question.micro_batches
                                  ? fmt::format(" with {} micro-batches", *question.micro_batches)
                                  : "";
    const std::string miss = result.closest_miss.empty() ? "" : ": " + result.closest_miss;
    throw FindingFailed(fmt::format("{} fits no grid of {} devices of {}{}{}", question.model.name,
                                    question.devices, platform.name, count, miss));
  }
  return result;
}

}  // namespace fourfold
