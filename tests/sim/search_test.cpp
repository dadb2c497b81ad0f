// The search tries every factorisation, says why grids are out, and ranks the rest.
#include "sim/estimate/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "platforms/device_memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

Point question(const std::string& model) {
  Point point;
  point.model = read_model(model);
  return point;
}

// All ordered ways to write `number` as a product of four, by trying everything.
std::vector<ProcessGrid> factorisations(std::int64_t number, std::int64_t stages = 1) {
  std::vector<ProcessGrid> result;
  for (std::int64_t x = 1; x <= number; ++x) {
    for (std::int64_t y = 1; x * y <= number; ++y) {
      for (std::int64_t z = 1; x * y * z <= number; ++z) {
        if (number % (x * y * z) == 0) result.emplace_back(x, y, z, number / (x * y * z), stages);
      }
    }
  }
  return result;
}

std::int64_t grids_tried(std::int64_t devices) {
  std::int64_t all = 0;
  search(question("gpt-5b"), read_platform("perlmutter"), {devices},
         [&all](std::int64_t, std::int64_t count) { all = count; });
  return all;
}

TEST(Search, TriesEveryFactorisationNotOnlyPowersOfTwo) {
  for (std::int64_t devices : {1, 7, 12, 60, 96, 128, 360}) {
    EXPECT_EQ(grids_tried(devices), static_cast<std::int64_t>(factorisations(devices).size()))
        << devices;
  }
}

// Of a model with so many heads of keys and values, which x cuts as it cuts heads; 0: as many as
// there are heads.
void expect_all_accounted_for(std::int64_t key_value_heads) {
  Point point = question("gpt-40b");
  point.model.key_value_heads = key_value_heads;
  if (key_value_heads > 0) point.model.mlp_width = 3 * 25;  // which no even x divides
  const Platform platform = read_platform("perlmutter");

  const SearchResult result = search(point, platform, {96});

  std::map<Rejection, std::int64_t> expected;
  std::int64_t tried = 0;
  std::set<std::pair<std::string, std::int64_t>> candidates;
  for (const ProcessGrid& grid : factorisations(96)) {
    switch (find_misfit(point.model, grid, point.global_batch, point.options)) {
      case Misfit::heads:
      case Misfit::key_value_heads:
        ++expected[Rejection::heads], ++tried;
        continue;
      case Misfit::mlp:
      case Misfit::divisibility:
        ++expected[Rejection::divisibility], ++tried;
        continue;
      case Misfit::batch:
        ++expected[Rejection::batch], ++tried;
        continue;
      case Misfit::layers:
      case Misfit::order:
      case Misfit::tokens:
      case Misfit::second_factoring:
        FAIL() << "a search has one stage and one factoring";
      case Misfit::none:
        break;
    }
    const std::int64_t share =
        point.global_batch / (grid.extent(Axis::z) * grid.extent(Axis::data));
    for (std::int64_t m = 1; m <= share; ++m) {
      if (share % m != 0) continue;
      ++tried;
      candidates.emplace(grid.str(), m);
    }
  }
  EXPECT_EQ(result.tried, tried);
  for (Rejection reason : {Rejection::heads, Rejection::divisibility, Rejection::batch}) {
    EXPECT_EQ(result.rejected.contains(reason) ? result.rejected.at(reason) : 0, expected[reason])
        << name(reason);
  }
  const auto fitting = static_cast<std::int64_t>(result.feasible.size());
  EXPECT_EQ(fitting + result.rejected.at(Rejection::memory),
            static_cast<std::int64_t>(candidates.size()));
  for (const Candidate& c : result.feasible) {
    EXPECT_EQ(candidates.erase({c.grid.str(), c.micro_batches}), 1u) << c.grid.str();
  }
}

TEST(Search, AccountsForEveryGridAndMicroBatch) {
  for (std::int64_t heads : {0, 2}) expect_all_accounted_for(heads);
}

// Pipelines in each order on one of the machines, and all that fits of them.
struct DrawnSearch {
  explicit DrawnSearch(std::int64_t number)
      : platform(read_platform(path_of_machine(
            fixed_machines[static_cast<std::size_t>(number) % fixed_machines.size()]))) {
    DrawnStep step = drawn_step(number, 16);
    if (!platform.processor.host_link) step.options.offload_bucket = 0;
    point.model = step.model;
    point.global_batch = 24;
    point.options = step.options;
    all = search(point, platform, space);
  }
  Platform platform;
  Point point;
  SearchSpace space{12, {1, 2, 3, 4}};
  SearchResult all;
};

// What a bound leaves out is not the fastest.
TEST(Search, FindsTheFastestPipelineWithoutWhatIsSlower) {
  for (std::int64_t number = 0; number < 15; ++number) {
    auto [platform, point, space, all] = DrawnSearch(number);
    SCOPED_TRACE(number);
    if (all.feasible.empty()) continue;
    space.faster_than = Seconds{1e9};

    const SearchResult fastest = search(point, platform, space);

    ASSERT_EQ(fastest.feasible.size(), 1u);
    const Seconds least = all.feasible.front().estimate.outcome.total;
    EXPECT_EQ(fastest.feasible.front().estimate.outcome.total, least);
    std::int64_t counted = fastest.slower + 1;
    for (const auto& [reason, count] : fastest.rejected) counted += count;
    EXPECT_EQ(counted, all.tried);
    EXPECT_EQ(fastest.tried, all.tried);
    space.faster_than = least;
    EXPECT_TRUE(search(point, platform, space).feasible.empty());
    space.faster_than = least * (1.0 + 1e-6);
    EXPECT_EQ(search(point, platform, space).feasible.size(), 1u);
    space.faster_than = {};
    space.micro_batches = all.feasible.back().micro_batches;
    for (const Candidate& one : search(point, platform, space).feasible) {
      EXPECT_EQ(one.micro_batches, space.micro_batches);
    }
  }
}

// Some twenty of what a search on 64 devices keeps, which it sorts.
void expect_each_is_the_point_alone(Point point, const Platform& platform) {
  const SearchResult result = search(point, platform, {64});

  ASSERT_GT(result.feasible.size(), 20u);
  EXPECT_FALSE(result.closest);
  EXPECT_TRUE(std::ranges::is_sorted(
      result.feasible, {}, [](const Candidate& one) { return one.estimate.outcome.total.value; }));
  for (std::size_t i = 0; i < result.feasible.size(); i += result.feasible.size() / 20) {
    const Candidate& c = result.feasible[i];
    point.grid = c.grid;
    point.options.micro_batches = c.micro_batches;
    const Estimate alone = estimate_step(point, platform);
    EXPECT_EQ(c.estimate.outcome.total, alone.outcome.total) << c.grid.str();
    EXPECT_EQ(c.estimate.memory.peak, alone.memory.peak) << c.grid.str();
    EXPECT_LE(c.estimate.memory.peak, memory_limit(platform)) << c.grid.str();
  }
}

TEST(Search, EstimatesWhatItKeepsAsThePointAlone) {
  expect_each_is_the_point_alone(question("gpt-5b"), read_platform("perlmutter"));
}

// Ranks in turn on 32 nodes: groups of every grid lie on other nodes than where ranks are packed.
TEST(Search, OfAListOfDevicesEstimatesEachGridOnTheList) {
  Point point = question("gpt-5b");
  const Platform platform = read_platform("perlmutter");
  point.what_ifs.placement.by = Placing::devices;
  for (std::int64_t i = 0; i < 64; ++i) {
    point.what_ifs.placement.list.push_back(i % 32 * platform.node.devices + i / 32);
  }

  expect_each_is_the_point_alone(point, platform);
}

// The first that needs least of all grids and micro-batches, each looked at by itself, and its
// bytes.
using Least = std::tuple<std::string, std::int64_t, double>;
Least least_of_all(Point point, const Platform& platform, const SearchSpace& space) {
  Estimator estimator(platform, point);
  Least least{"", 0, 1e30};
  for (const std::int64_t stages : space.stages) {
    for (const ProcessGrid& grid : factorisations(space.devices / stages, stages)) {
      StepOptions options = in_effect(point.options, grid);
      for (std::int64_t m = 1; m <= point.global_batch; ++m) {
        point.options.micro_batches = options.micro_batches = m;
        const Misfit why = find_misfit(point.model, grid, point.global_batch, point.options);
        if (why != Misfit::none) continue;
        const auto uses = estimator.memory(folded_stages(point.model, options, stages), grid, m);
        const double need = std::ranges::max(uses, {}, &MemoryUse::peak).peak.value;
        if (need < std::get<double>(least)) least = {grid.str(), m, need};
      }
    }
  }
  return least;
}

// Of pipelines, too, of which most are not looked at as a whole.
TEST(Search, TheClosestMissIsTheOneThatNeedsLeast) {
  for (std::int64_t number = 0; number < 12; ++number) {
    auto [platform, point, space, all] = DrawnSearch(number);
    SCOPED_TRACE(number);
    const Least least = least_of_all(point, platform, space);
    std::map<Rejection, std::int64_t> rejected = all.rejected;
    rejected[Rejection::memory] += std::ssize(all.feasible);
    space.closest_alone = true;
    for (int i = 0; i < 2; ++i) {
      const SearchResult found = search(point, platform, space);
      EXPECT_TRUE(found.feasible.empty() && found.rejected == rejected);
      const Candidate closest = found.closest.value();
      const double need = closest.estimate.memory.peak.value;
      EXPECT_EQ(Least(closest.grid.str(), closest.micro_batches, need), least);
      space.closest_alone = false;
      platform.processor.memory = Bytes{1.0};
    }
  }
}

TEST(Search, RefusesMoreDevicesThanTheMachineHas) {
  const auto said = [](std::int64_t devices) {
    return refusal<std::runtime_error>(
        [&] { search(question("gpt-5b"), read_platform("perlmutter"), {devices}); });
  };

  EXPECT_EQ(said(8192),
            "perlmutter has 6144 devices (1536 nodes of 4), fewer than the 8192 asked for");
  EXPECT_NE(said(0), "accepted");
}

TEST(Ranking, KendallTauIsOneMinusOneOrBetween) {
  EXPECT_DOUBLE_EQ(kendall_tau({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_DOUBLE_EQ(kendall_tau({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  // One of six pairs is the wrong way round.
  EXPECT_DOUBLE_EQ(kendall_tau({1, 2, 3, 4}, {1, 3, 2, 4}), 4.0 / 6);
  // A tie agrees with nothing: two of three pairs count.
  EXPECT_DOUBLE_EQ(kendall_tau({1, 2, 3}, {1, 1, 2}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(kendall_tau({5}, {7}), 1);
}

TEST(Ranking, TopOneRegretIsWhatTheFirstChoiceLoses) {
  EXPECT_DOUBLE_EQ(top1_regret({1, 2, 3}, {10, 20, 30}), 0);
  EXPECT_DOUBLE_EQ(top1_regret({2, 1, 3}, {10, 12, 30}), 0.2);
  EXPECT_DOUBLE_EQ(top1_regret({}, {}), 0);
}

}  // namespace
}  // namespace fourfold::tests
