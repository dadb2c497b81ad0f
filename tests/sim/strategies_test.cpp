// The search over whole strategies: what it looks at, what it says of the rest, and that each is
// the point alone; long because strategies are left out for many reasons.
#include "sim/estimate/strategies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "sim/estimate/search.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

std::vector<std::int64_t>& extents(StrategySpace& space, Axis axis) {
  return space.extents[static_cast<std::size_t>(axis)];
}

// A small pipeline model: 8 layers.
Point pattern() {
  Point point;
  point.model = {"small", 8, 1024, 16, 512, 8192};
  point.global_batch = 64;
  return point;
}

StrategySpace pipelines() {
  StrategySpace space;
  space.devices = {16};
  extents(space, Axis::x) = {1, 2};
  extents(space, Axis::y) = {1};
  extents(space, Axis::z) = {1};
  extents(space, Axis::pipe) = {1, 2, 4};
  space.options = {{"--order", {"1f1b", "gpipe", "interleaved"}},
                   {"--chunks", {"1", "2"}},
                   {"--zero", {"0", "1"}}};
  return space;
}

StrategyAnswer searched(const Point& point, const StrategySpace& space, StrategyWish wish = {}) {
  return search_strategies(point, read_platform("frontier"), space, wish);
}

// The sentence that a search is refused with; "accepted" without one.
std::string refusal(const Point& point, const StrategySpace& space) {
  return tests::refusal<std::runtime_error>([&] { searched(point, space); });
}

std::int64_t refused(const StrategyAnswer& answer) {
  return std::accumulate(
      answer.refused.begin(), answer.refused.end(), std::int64_t{0},
      [](std::int64_t sum, const Refusal& refusal) { return sum + refusal.strategies; });
}

// Seconds and memory of a strategy are those of `point` with its grid and options.
void expect_point_alone(const Strategy& strategy, Point point, const Platform& platform) {
  point.grid = strategy.grid;
  point.options = strategy.options;
  const Estimate alone = estimate_step(point, platform);
  EXPECT_NEAR(strategy.seconds / alone.outcome.total, 1.0, 1e-12) << strategy.grid.str();
  EXPECT_EQ(strategy.memory, alone.memory.peak) << strategy.grid.str();
}

// A batch is what micro-batches make of it: of two sizes and so many.
StrategySpace of_made_batches(std::vector<std::int64_t> micro_batches) {
  StrategySpace space = pipelines();
  space.devices = {8, 16};
  space.micro_batch_sizes = {1, 3};
  space.micro_batches = std::move(micro_batches);
  space.options.clear();
  return space;
}

TEST(Strategies, EachIsThePointAlone) {
  const Point point = pattern();

  const StrategyAnswer answer = searched(point, pipelines(), {1000, Thoroughness::all});

  ASSERT_GT(answer.best.size(), 30u);
  const Platform platform = read_platform("frontier");
  for (const Strategy& strategy : answer.best) {
    expect_point_alone(strategy, point, platform);
    EXPECT_EQ(strategy.rate.value,
              strategy_flops(point.model, 64).value / 16 / strategy.seconds.value);
  }
}

TEST(Strategies, WithFixedOptionsAreTheSearchOverGrids) {
  Point point = pattern();
  StrategySpace space;
  space.devices = {16};
  extents(space, Axis::pipe) = {1, 2, 4};

  const StrategyAnswer answer = searched(point, space, {100'000, Thoroughness::all});
  const SearchResult grids = search(point, read_platform("frontier"), {16, {1, 2, 4}});

  ASSERT_EQ(answer.feasible, static_cast<std::int64_t>(grids.feasible.size()));
  EXPECT_EQ(answer.best.front().seconds, grids.feasible.front().estimate.outcome.total);
}

// Whichever axis they are of, that of data too, which is what the others leave.
TEST(Strategies, OfStatedExtentsAreThoseOfAllThatHaveThem) {
  StrategySpace any;
  any.devices = {16};
  extents(any, Axis::pipe) = {1};
  const auto looked_at = [](const StrategySpace& space) {
    return searched(pattern(), space, {100'000, Thoroughness::all}).best;
  };
  for (const Axis axis : {Axis::x, Axis::y, Axis::z, Axis::data}) {
    std::multiset<std::string> expected, found;
    for (const Strategy& one : looked_at(any)) {
      const std::int64_t extent = one.grid.extent(axis);
      if (extent == 2 || extent == 8) expected.insert(one.grid.str());
    }
    StrategySpace stated = any;
    extents(stated, axis) = {2, 8};
    for (const Strategy& one : looked_at(stated)) found.insert(one.grid.str());
    EXPECT_EQ(found, expected) << name(axis);
    EXPECT_GT(found.size(), 5u);
  }
}

TEST(Strategies, AccountForEveryCombination) {
  const StrategySpace space = pipelines();

  const StrategyAnswer answer = searched(pattern(), space, {10, Thoroughness::all});

  // By trying everything: grids of x and pipe, divisors of each share, combinations of options.
  std::map<std::string, std::int64_t> expected;
  std::int64_t all = 0;
  for (std::int64_t x : {1, 2}) {
    for (std::int64_t pipe : {1, 2, 4}) {
      const ProcessGrid grid(x, 1, 1, 16 / x / pipe, pipe);
      for (PipelineOrder order :
           {PipelineOrder::one_f_one_b, PipelineOrder::gpipe, PipelineOrder::interleaved}) {
        for (std::int64_t chunks : {1, 2}) {
          for (std::int64_t m = 1; m <= 64 / replicas(grid); ++m) {
            if (64 / replicas(grid) % m != 0) continue;
            StepOptions options;
            options.order = order;
            options.chunks = chunks;
            options.micro_batches = m;
            const bool fits = find_misfit(pattern().model, grid, 64, options) == Misfit::none;
            expected[fits ? "" : "order"] += 2;  // ZeRO 0 and 1
            all += 2;
          }
        }
      }
    }
  }
  EXPECT_EQ(answer.strategies, all);
  EXPECT_EQ(refused(answer), expected["order"]);
  EXPECT_EQ(answer.feasible + answer.out_of_memory, expected[""]);
  EXPECT_EQ(answer.visited.rates.size(), static_cast<std::size_t>(expected[""]));
  EXPECT_EQ(answer.visited.places.size(), answer.visited.rates.size() * answer.factors.size());
  ASSERT_EQ(answer.refused.size(), 1u);
  EXPECT_THAT(answer.refused[0].example, HasSubstr("order"));
  StrategySpace more = space;
  extents(more, Axis::x)
      .push_back(3);  // which does not divide 16: refused before its shares are known
  EXPECT_EQ(searched(pattern(), more).strategies, all + 3 * 12);
}

TEST(Strategies, ThatMakeNoDifferenceAreOneRow) {
  StrategySpace space = pipelines();
  extents(space, Axis::x) = {1};
  extents(space, Axis::pipe) = {1};
  space.options = {{"--sequence-parallel", {"off", "on"}}};

  const StrategyAnswer answer = searched(pattern(), space);

  ASSERT_FALSE(answer.best.empty());
  for (const Strategy& strategy : answer.best) {
    EXPECT_EQ(strategy.alike, 1) << strategy.grid.str();
    EXPECT_EQ(strategy.words.back(), "off");
  }
}

// Their rates are those that they have without any like them.
TEST(Strategies, WithTheSameStepHaveTheSameRates) {
  const auto rates_of_last = [](const OptionChoice& choice) {
    StrategySpace space = pipelines();
    space.options = {choice};
    const StrategyAnswer answer = searched(pattern(), space, {10, Thoroughness::all});
    std::vector<double> rates;
    for (std::size_t i = 0; i < answer.visited.rates.size(); ++i) {
      const std::size_t next = (i + 1) * answer.factors.size();
      const bool last = answer.visited.places[next - 1] + 1u == choice.words.size();
      if (last) rates.push_back(answer.visited.rates[i]);
    }
    return rates;
  };

  const std::vector<double> selective = rates_of_last({"--recompute", {"selective"}});
  const std::vector<double> split = rates_of_last({"--order", {"zero-bubble"}});

  EXPECT_GT(selective.size(), 20u);
  EXPECT_EQ(rates_of_last({"--recompute", {"none", "selective"}}), selective);
  EXPECT_EQ(rates_of_last({"--order", {"interleaved", "1f1b", "zero-bubble"}}), split);
}

// Recordings are shared by strategies of several batches; what each takes is that of its own batch,
// which every replica along z and data adds to.
TEST(Strategies, MayMakeTheirBatchOfMicroBatches) {
  Point point = pattern();
  point.global_batch = 0;
  StrategySpace space = of_made_batches({4, 8});
  extents(space, Axis::z) = {1, 4};

  const StrategyAnswer answer = searched(point, space, {1000, Thoroughness::all});

  std::map<std::int64_t, int> along_z;
  const Platform platform = read_platform("frontier");
  for (const Strategy& strategy : answer.best) {
    ++along_z[strategy.grid.extent(Axis::z)];
    EXPECT_TRUE(strategy.micro_batches() == 4 || strategy.micro_batches() == 8);
    EXPECT_EQ(strategy.global_batch, strategy.micro_batches() * strategy.micro_batch_size() *
                                         strategy.grid.extent(Axis::z) *
                                         strategy.grid.extent(Axis::data));
    point.global_batch = strategy.global_batch;
    expect_point_alone(strategy, point, platform);
  }
  EXPECT_EQ(along_z[1], 2 * 2 * 3 * 2 * 2);
  EXPECT_GT(along_z[4], 20);
}

// What a lower bound leaves out is counted, and is none of the best; also where a stage alone gets
// no messages to choose its turns by. Strategies with the same rate share a row: they take no place
// from those that are slower.
TEST(Strategies, LeftOutAreNoneOfTheBest) {
  const std::vector<OptionChoice> choices{{"--zero", {"0", "1"}},
                                          {"--order", {"1f1b", "message-driven"}},
                                          {"--recompute", {"full", "none", "selective"}}};
  std::int64_t beaten = 0, alike = 0;
  for (const OptionChoice& choice : choices) {
    for (std::size_t wanted : {5, 12}) {
      SCOPED_TRACE(choice.flag + " " + std::to_string(wanted));
      StrategySpace space = pipelines();
      extents(space, Axis::x) = {1, 2, 4, 8};
      std::erase_if(space.options,
                    [&](const OptionChoice& one) { return one.flag == choice.flag; });
      space.options.push_back(choice);

      const StrategyAnswer few = searched(pattern(), space, {wanted, Thoroughness::best});
      const StrategyAnswer all = searched(pattern(), space, {wanted, Thoroughness::all});

      beaten += few.beaten;
      EXPECT_EQ(few.beaten + few.feasible + few.out_of_memory, all.feasible + all.out_of_memory);
      ASSERT_EQ(all.best.size(), wanted);
      ASSERT_EQ(few.best.size(), wanted);
      for (std::size_t i = 0; i < wanted; ++i) {
        EXPECT_EQ(few.best[i].words, all.best[i].words) << i;
        EXPECT_EQ(few.best[i].seconds, all.best[i].seconds) << i;
        EXPECT_EQ(few.best[i].alike, all.best[i].alike) << i;
        alike += all.best[i].alike > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(beaten, 100);
  EXPECT_GT(alike, 0);
}

TEST(Strategies, RefusedByARuleComeWithTheReason) {
  Point point = pattern();
  StrategySpace space = pipelines();
  extents(space, Axis::x) = {1, 3, 16};
  extents(space, Axis::pipe) = {1, 16};
  space.micro_batch_sizes = {1, 3};
  space.options.clear();

  const StrategyAnswer answer = searched(point, space);

  std::map<std::string, std::pair<std::int64_t, std::string>> found;
  for (const Refusal& refusal : answer.refused) {
    found[refusal.rule] = {refusal.strategies, refusal.example};
  }
  EXPECT_EQ(found["devices"].first, 6);  // x = 3; with 16 stages x = 3 and 16: two sizes each
  EXPECT_THAT(found["devices"].second, HasSubstr("x = 3 does not divide"));
  EXPECT_EQ(found["layers"].first, 2);
  EXPECT_THAT(found["layers"].second, HasSubstr("8 layers"));
  EXPECT_EQ(found["batch"].first, 2);  // size 3 on the two grids that there are
  EXPECT_THAT(found["batch"].second, HasSubstr("micro-batches of 3 sequences"));
  EXPECT_EQ(answer.strategies, 3 * 2 * 2);
}

// Beside every grid and count of micro-batches that the space has.
TEST(Strategies, TheClosestOfThoseOutOfMemoryNeedsLeast) {
  Point point = pattern();
  point.model = read_model("gpt-80b");
  point.global_batch = 4;
  StrategySpace space;
  space.devices = {4};
  extents(space, Axis::pipe) = {1, 2, 4};
  const Platform platform = read_platform("frontier");
  Bytes least{1e30};
  constexpr std::int64_t counts = 3;  // 1, 2 and 4 of each
  for (std::int64_t n = 0; n < counts * counts * counts * counts * counts; ++n) {
    const auto chosen = [&](std::int64_t weight) { return std::int64_t{1} << n / weight % counts; };
    const std::int64_t x = chosen(1), y = chosen(3), z = chosen(9), pipe = chosen(27);
    if (x * y * z * pipe > 4) continue;
    point.grid = ProcessGrid(x, y, z, 4 / (x * y * z * pipe), pipe);
    point.options.micro_batches = chosen(81);
    if (find_misfit(point.model, point.grid, 4, point.options) != Misfit::none) continue;
    least = std::min(least, estimate_step(point, platform).memory.peak);
  }

  const StrategyAnswer answer = searched(point, space);

  EXPECT_EQ(answer.feasible, 0);
  EXPECT_GT(answer.out_of_memory, 0);
  EXPECT_TRUE(answer.best.empty());
  ASSERT_TRUE(answer.closest.has_value());
  EXPECT_GT(answer.closest->memory, answer.memory_limit);
  EXPECT_EQ(answer.closest->memory, least);
  point.grid = answer.closest->grid;
  point.options = answer.closest->options;
  EXPECT_EQ(estimate_step(point, platform).memory.peak, least);
}

// What is refused early counts with all that would have followed of it.
TEST(Strategies, OfStatedListsAreAllTheirCombinations) {
  for (const std::int64_t devices : {8, 12, 15, 16}) {
    StrategySpace space = of_made_batches({2, 4, 7});
    space.devices = {devices};
    extents(space, Axis::pipe) = {1, 2, 5};
    extents(space, Axis::x) = {1, 2, 3};
    extents(space, Axis::z) = {1, 4};

    const StrategyAnswer answer = searched(pattern(), space);

    EXPECT_EQ(answer.strategies, 3 * 3 * 1 * 2 * (2 * 3)) << devices;
  }
}

TEST(Strategies, ThatCannotBeSaidAreRefused) {
  const auto with = [](const OptionChoice& choice) {
    StrategySpace space = pipelines();
    space.options = {choice};
    return refusal(pattern(), space);
  };
  StrategySpace nowhere = pipelines();
  nowhere.devices.clear();
  StrategySpace twice = pipelines();
  extents(twice, Axis::x) = {2, 2};
  StrategySpace far = pipelines();
  far.devices = {1'000'000'000};
  Point without_batch = pattern();
  without_batch.global_batch = 0;

  EXPECT_THAT(with({"--zerro", {"1"}}), HasSubstr("did you mean \"--zero\"?"));
  EXPECT_THAT(with({"--order", {"1f1b", "gpip"}}), HasSubstr("did you mean \"gpipe\"?"));
  EXPECT_THAT(with({"--zero", {}}), HasSubstr("--zero has an empty list"));
  EXPECT_THAT(with({"--zero", {"1", "1"}}), HasSubstr("twice"));
  EXPECT_THAT(refusal(pattern(), nowhere), HasSubstr("number of devices"));
  EXPECT_THAT(refusal(pattern(), twice), HasSubstr("twice for x"));
  EXPECT_THAT(refusal(pattern(), far), HasSubstr("fewer than"));
  EXPECT_THAT(refusal(without_batch, pipelines()), HasSubstr("no batch"));
}

TEST(Strategies, BeyondCountingSayHowLongTheyWouldTake) {
  StrategySpace space = pipelines();
  for (int i = 1; i <= 1000; ++i) space.micro_batches.push_back(i);
  for (int i = 1; i <= 1000; ++i) space.micro_batch_sizes.push_back(i);

  const std::string said = refusal(pattern(), space);

  EXPECT_THAT(said, HasSubstr("million strategies"));
  EXPECT_THAT(said, HasSubstr("hours"));
  EXPECT_THAT(said, HasSubstr("micro-batch"));
}

}  // namespace
}  // namespace fourfold::tests
