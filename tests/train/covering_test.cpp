// Every pair of choices of a step on every shape of as many ranks as there are: shape with order,
// order with ZeRO and so on, by a set of steps that has each pair once at least. The executor
// equals the referee bit by bit in all of them.
#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "tests/train/bitwise.hpp"

namespace fourfold::tests {
namespace {

// Places in the lists below.
using Choice = std::array<int, 8>;

constexpr std::array orders{PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                            PipelineOrder::interleaved, PipelineOrder::zero_bubble,
                            PipelineOrder::message_driven};
constexpr std::array recomputes{Recompute::full, Recompute::none, Recompute::selective};
constexpr std::array attentions{AttentionKernel::fused, AttentionKernel::unfused};
constexpr std::array<std::int64_t, 2> buckets{0, 50};
constexpr std::array<std::int64_t, 2> data_buckets{0, 1 << 20};

std::vector<ProcessGrid> shapes() {
  return grids_and_pipelines_of_all_ranks(4);
}

Case case_of(const Choice& choice, const std::vector<ProcessGrid>& grids) {
  Case what;
  what.grid = grids[static_cast<std::size_t>(choice[0])];
  StepOptions& options = what.options;
  options.order = orders[static_cast<std::size_t>(choice[1])];
  options.zero = choice[2];
  options.sequence_parallel = choice[3] == 1;
  options.recompute = recomputes[static_cast<std::size_t>(choice[4])];
  options.attention = attentions[static_cast<std::size_t>(choice[5])];
  options.offload_bucket = buckets[static_cast<std::size_t>(choice[6])];
  options.data_bucket = data_buckets[static_cast<std::size_t>(choice[7])];
  const std::int64_t stages = what.grid.extent(Axis::pipe);
  options.chunks = options.order == PipelineOrder::interleaved ? 2 : 1;
  options.cut_messages = !options.sequence_parallel && stages % 2 == 0;
  options.micro_batches = std::max<std::int64_t>(2, stages);
  what.model.layers = stages * options.chunks + 1;
  what.sequences = options.micro_batches * replicas(what.grid) * what.grid.extent(Axis::x);
  what.steps = 1;
  return what;
}

// All combinations that a step can be made of.
std::vector<Choice> product(const std::vector<ProcessGrid>& grids) {
  const Choice ends{static_cast<int>(grids.size()), 5, 4, 2, 3, 2, 2, 2};
  std::vector<Choice> all;
  for (Choice choice{}; choice[0] < ends[0];) {
    const Case what = case_of(choice, grids);
    // On one stage there is but one order.
    const bool one_order = what.grid.extent(Axis::pipe) == 1 && choice[1] > 0;
    if (!one_order &&
        find_misfit(what.model, what.grid, what.sequences, what.options) == Misfit::none) {
      all.push_back(choice);
    }
    for (std::size_t i = choice.size(); i-- > 0;) {
      if (++choice[i] < ends[i] || i == 0) break;
      choice[i] = 0;
    }
  }
  return all;
}

// Two factors at two places each, as a number.
constexpr std::size_t factors = std::tuple_size_v<Choice>, places = 64;
using Pairs = std::array<std::size_t, factors*(factors - 1) / 2>;

Pairs pairs_of(const Choice& choice) {
  Pairs pairs{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < factors; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto first = i * places + static_cast<std::size_t>(choice[i]);
      const auto second = j * places + static_cast<std::size_t>(choice[j]);
      pairs[next++] = first * places * factors + second;
    }
  }
  return pairs;
}

// Of all combinations as few as have every pair, taking the one with most new ones again and again.
std::vector<Choice> covering(const std::vector<Choice>& all) {
  std::vector<bool> covered(factors * places * factors * places);
  std::vector<Choice> taken;
  for (;;) {
    const Choice* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Choice& choice : all) {
      const auto fresh =
          std::ranges::count_if(pairs_of(choice), [&](std::size_t pair) { return !covered[pair]; });
      if (fresh > most) best = &choice;
      most = std::max(most, fresh);
    }
    if (best == nullptr) return taken;
    taken.push_back(*best);
    for (const std::size_t pair : pairs_of(*best)) covered[pair] = true;
  }
}

std::vector<Case> cases_of(const std::vector<Choice>& choices) {
  const std::vector<ProcessGrid> grids = shapes();
  std::vector<Case> cases;
  for (const Choice& choice : choices) cases.push_back(case_of(choice, grids));
  return cases;
}

TEST(Covering, EqualsTheReferee) {
  expect_bitwise_equal(cases_of(covering(product(shapes()))));
}

TEST(Covering, SLOW_AllCombinationsEqualTheReferee) {
  expect_bitwise_equal(cases_of(product(shapes())));
}

}  // namespace
}  // namespace fourfold::tests
