// Estimates what fits the rules, those with the same options in a row, and ranks it; see
// strategies.hpp.
#include "sim/estimate/strategies.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>

#include "platforms/device_memory.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/order/step.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/estimate/recordings.hpp"

namespace fourfold::inline sim::inline estimate {

namespace {

struct Visit {
  Choices choices;
  double bound = 0.0;    // of its seconds, where one was looked for
  double seconds = 0.0;  // 0: out of memory
  double memory = 0.0;   // where it is out, at least
};

// Estimates strategies one after the other: those in a row with the same options and stages share
// their recordings.
class Runner {
 public:
  Runner(const Point& pattern, const Platform& platform, Bytes memory_limit)
      : question_(pattern),
        memory_limit_(memory_limit),
        estimator_(platform, question_),
        recordings_(question_.model) {}

  // No pipeline is faster than one of its stages alone, to which messages come without anybody's
  // having to send them. The last has the head, and most to do.
  // Exact up to `most`, and above it at least that.
  Seconds bound(const Strategy& strategy, const Visit& visit, Seconds most) {
    begin(strategy, visit);
    const std::int64_t stages = strategy.grid.extent(Axis::pipe);
    const std::int64_t m = strategy.micro_batches();
    return estimator_.alone(now_->stage({stages - 1, stages}, m), strategy.grid, m, most);
  }

  // The first and the last stage are the fullest as a rule: where either does not fit, the others
  // are not looked at, and the need is at least what is found.
  void run(const Strategy& strategy, Visit& visit) {
    begin(strategy, visit);
    const std::int64_t stages = strategy.grid.extent(Axis::pipe);
    for (std::int64_t i : {std::int64_t{0}, stages - 1}) {
      visit.memory = std::max(visit.memory, stage_memory(strategy, {i, stages}).value);
    }
    if (visit.memory > memory_limit_.value) return;
    const std::int64_t m = strategy.micro_batches();
    const Pipeline& pipeline = now_->pipeline(stages, m);
    const Estimate estimate = estimator_.evaluate(pipeline, strategy.grid, m, memory_limit_);
    visit.memory = std::max(visit.memory, estimate.memory.peak.value);
    if (visit.memory > memory_limit_.value) return;
    visit.seconds = estimate.outcome.total.value;
  }

  // Of the fullest stage.
  Bytes memory(const Strategy& strategy, const Visit& visit) {
    begin(strategy, visit);
    Bytes need;
    for (std::int64_t i = 0; i < strategy.grid.extent(Axis::pipe); ++i) {
      need = std::max(need, stage_memory(strategy, {i, strategy.grid.extent(Axis::pipe)}));
    }
    return need;
  }

 private:
  void begin(const Strategy& strategy, const Visit& visit) {
    question_.global_batch = strategy.global_batch;
    const std::pair of{visit.choices.options, strategy.grid.extent(Axis::pipe)};
    if (of_ != of) recordings_.clear();
    of_ = of;
    question_.options = strategy.options;
    now_ = &recordings_.of(in_effect(strategy.options, strategy.grid));
  }

  Bytes stage_memory(const Strategy& strategy, const Stage& stage) {
    const std::int64_t m = strategy.micro_batches();
    const std::span<const Folded> one(&now_->stage(stage, m), 1);
    return estimator_.memory(one, strategy.grid, m).front().peak;
  }

  Point question_;
  Bytes memory_limit_;
  Estimator estimator_;
  AllRecordings recordings_;
  Recordings* now_ = nullptr;                    // of the strategy begun
  std::pair<std::uint32_t, std::int64_t> of_{};  // options and stages that the recordings are of
};

// By strategy the first one whose step, grid and micro-batches are the same: itself, if none before
// it is. Strategies are sorted by stages, then by options: the same step has the same rows.
std::vector<std::size_t> twins(const StrategyLists& lists, const std::vector<Visit>& visits) {
  std::vector<std::size_t> twins(visits.size());
  std::vector<std::pair<StepOptions, std::size_t>> rows;  // of as many stages, and where they begin
  std::size_t first = 0, of_twin = 0;                     // of a row, and of the first one like it
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const Choices& now = visits[i].choices;
    const std::int64_t stages = lists.stages(now);
    const bool new_stages = i == 0 || lists.stages(visits[i - 1].choices) != stages;
    if (new_stages) rows.clear();
    if (new_stages || visits[i - 1].choices.options != now.options) {
      const StepOptions options = plain(lists.combinations[now.options], stages);
      const auto same = std::ranges::find(rows, options, &decltype(rows)::value_type::first);
      first = i;
      of_twin = same == rows.end() ? i : same->second;
      if (same == rows.end()) rows.emplace_back(options, i);
    }
    const std::size_t twin = of_twin + (i - first);
    Choices like = visits[twin].choices;
    like.options = now.options;
    twins[i] = like == now ? twin : i;
  }
  return twins;
}

// The rates of the best so far, those that rounding tells apart counted once: what is below all of
// as many as are wanted is not among the best.
class Best {
 public:
  explicit Best(std::size_t wanted) : wanted_(wanted) {}

  bool beats(double rate) const { return rate < least(); }
  // The least that is not beaten, 0 while anything may be.
  double least() const {
    const bool full = wanted_ > 0 && rates_.size() == wanted_;
    return full ? rates_.back() * (1.0 - 1e-9) : 0.0;
  }
  void add(double rate) {
    for (double other : rates_) {
      if (std::abs(rate / other - 1.0) < 1e-9) return;
    }
    rates_.insert(std::ranges::upper_bound(rates_, rate, std::greater()), rate);
    if (rates_.size() > wanted_) rates_.pop_back();
  }

 private:
  std::size_t wanted_;
  std::vector<double> rates_;  // descending
};

FlopsPerSecond rate_of(const Model& model, const Strategy& strategy, double seconds) {
  const double devices = static_cast<double>(strategy.grid.size());
  return {strategy_flops(model, strategy.global_batch).value / devices / seconds};
}

Strategy measured(const Model& model, const StrategyLists& lists, const Visit& visit) {
  Strategy strategy = lists.strategy(visit.choices);
  strategy.words = lists.words(visit.choices);
  strategy.seconds = {visit.seconds};
  strategy.memory = {visit.memory};
  if (visit.seconds > 0.0) strategy.rate = rate_of(model, strategy, visit.seconds);
  return strategy;
}

// Of the same grid and micro-batches, in the same seconds but for rounding.
bool alike(const Strategy& a, const Strategy& b) {
  return a.grid == b.grid && a.global_batch == b.global_batch &&
         a.micro_batches() == b.micro_batches() && std::abs(a.seconds / b.seconds - 1.0) < 1e-9;
}

// The fastest first; of those alike only the first in the order of the space.
std::vector<Strategy> ranked(const Model& model, const StrategyLists& lists,
                             const std::vector<Visit>& visits, const std::vector<double>& rates,
                             std::size_t wanted) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] > 0.0) order.push_back(i);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return rates[a] > rates[b]; });
  std::vector<Strategy> best;
  std::vector<std::size_t> numbers;  // of the best
  for (std::size_t i : order) {
    const bool full = best.size() == wanted;
    if (full && (best.empty() || rates[i] < best.back().rate.value * (1.0 - 1e-9))) break;
    Strategy next = measured(model, lists, visits[i]);
    const auto twin =
        std::ranges::find_if(best, [&](const Strategy& one) { return alike(one, next); });
    if (twin != best.end()) {
      std::size_t& number = numbers[static_cast<std::size_t>(twin - best.begin())];
      next.alike = ++twin->alike;
      if (i > number) continue;
      number = i;
      *twin = std::move(next);
    } else if (!full) {
      best.push_back(std::move(next));
      numbers.push_back(i);
    }
  }
  return best;
}

// Of what is out of memory, the strategy that needs least; none if everything fits.
std::optional<Strategy> closest_miss(const Model& model, const StrategyLists& lists,
                                     std::vector<Visit> visits, Runner& runner) {
  std::erase_if(visits, [](const Visit& visit) { return visit.seconds > 0.0 || !visit.memory; });
  std::ranges::stable_sort(visits, {}, &Visit::memory);
  std::optional<Strategy> closest;
  for (Visit& visit : visits) {
    if (closest && visit.memory >= closest->memory.value) break;
    visit.memory = runner.memory(lists.strategy(visit.choices), visit).value;
    if (!closest || visit.memory < closest->memory.value) closest = measured(model, lists, visit);
  }
  return closest;
}

void refuse_beyond(const Platform& platform, const std::vector<std::int64_t>& devices) {
  for (std::int64_t count : devices) {
    if (count < 1) throw std::runtime_error("a search needs at least 1 device");
    if (count <= platform.devices()) continue;
    throw std::runtime_error(platform.name + " has " + std::to_string(platform.devices()) +
                             " devices (" + std::to_string(platform.nodes) + " nodes of " +
                             std::to_string(platform.node.devices) + "), fewer than the " +
                             std::to_string(count) + " asked for");
  }
}

}  // namespace

Flops strategy_flops(const Model& model, std::int64_t sequences) {
  return model_flops(model, sequences, Recompute::none);
}

StrategyAnswer search_strategies(const Point& pattern, const Platform& platform,
                                 const StrategySpace& space, const StrategyWish& wish,
                                 const std::function<void(std::int64_t, std::int64_t)>& progress) {
  refuse_beyond(platform, space.devices);
  const StrategyLists lists(pattern, space);
  Enumerated enumerated = enumerate(pattern.model, lists);
  StrategyAnswer answer;
  answer.factors = lists.factors;
  answer.strategies = enumerated.strategies;
  answer.refused = std::move(enumerated.refused);
  std::vector<Visit> visits;
  for (const Choices& choices : enumerated.fitting) visits.push_back({choices});
  // Short pipelines first: they are quick to estimate, and what the others have to beat.
  std::ranges::stable_sort(visits, {},
                           [&](const Visit& visit) { return lists.stages(visit.choices); });
  const std::vector<std::size_t> first_alike = twins(lists, visits);
  answer.memory_limit = memory_limit(platform, space.memory_risk);
  Runner runner(pattern, platform, answer.memory_limit);
  std::vector<double> rates;
  rates.reserve(visits.size());
  Best best(wish.best);
  for (std::size_t i = 0; i < visits.size(); ++i) {
    if (progress && i % 32 == 0) {
      progress(static_cast<std::int64_t>(i), static_cast<std::int64_t>(visits.size()));
    }
    Visit& visit = visits[i];
    const bool known = first_alike[i] != i;
    if (known) {
      const Visit& twin = visits[first_alike[i]];
      visit = {visit.choices, twin.bound, twin.seconds, twin.memory};
    }
    const Strategy strategy = lists.strategy(visit.choices);
    const auto rate = [&](Seconds seconds) {
      return rate_of(pattern.model, strategy, seconds.value).value;
    };
    const bool may_lose =
        wish.thoroughness == Thoroughness::best && strategy.grid.extent(Axis::pipe) > 1;
    // The seconds in which it would be as good as the last of the best.
    const Seconds most{rate({1.0}) / best.least()};
    if (may_lose && !known) visit.bound = runner.bound(strategy, visit, most).value;
    if (may_lose && best.beats(rate({visit.bound}))) {
      // As a twin may not have been.
      visit.seconds = visit.memory = 0.0;
      rates.push_back(0.0);
      ++answer.beaten;
      continue;
    }
    if (!known) runner.run(strategy, visit);
    const bool fits = visit.seconds > 0.0;
    rates.push_back(fits ? rate({visit.seconds}) : 0.0);
    if (fits) best.add(rates.back());
    ++(fits ? answer.feasible : answer.out_of_memory);
  }
  answer.best = ranked(pattern.model, lists, visits, rates, wish.best);
  answer.closest = closest_miss(pattern.model, lists, visits, runner);
  if (wish.thoroughness == Thoroughness::all) {
    for (const Visit& visit : visits) {
      const std::vector<std::uint16_t> places = lists.places(visit.choices);
      answer.visited.places.insert(answer.visited.places.end(), places.begin(), places.end());
    }
    answer.visited.rates = std::move(rates);
  }
  return answer;
}

}  // namespace fourfold::inline sim::inline estimate
