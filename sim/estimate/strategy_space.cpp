// Fills in lists and walks through their combinations; see strategy_space.hpp.
#include "sim/estimate/strategy_space.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "schedule/models/fit.hpp"
#include "support/divisors.hpp"
#include "support/field.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline sim::inline estimate {

namespace {

using Numbers = std::vector<std::int64_t>;

// data is what the others leave. Recordings differ by the stages: their number comes first.
constexpr std::array chosen_axes{Axis::pipe, Axis::x, Axis::y, Axis::z};

constexpr std::array named_axes{Axis::x, Axis::y, Axis::z, Axis::pipe};

constexpr std::size_t at(Axis axis) {
  return static_cast<std::size_t>(axis);
}

std::uint16_t place(const Numbers& list, std::int64_t number) {
  return static_cast<std::uint16_t>(std::ranges::find(list, number) - list.begin());
}

std::vector<std::string> typed(const Numbers& numbers) {
  std::vector<std::string> words;
  for (std::int64_t number : numbers) words.push_back(std::to_string(number));
  return words;
}

template <typename Entry>
void refuse_twins(const std::string& what, const std::vector<Entry>& list) {
  std::set<Entry> seen;
  for (const Entry& entry : list) {
    if (seen.insert(entry).second) continue;
    throw std::runtime_error("the space has the same entry twice for " + what);
  }
}

}  // namespace

std::int64_t Strategy::micro_batch_size() const {
  return global_batch / replicas(grid) / micro_batches();
}

StrategyLists::StrategyLists(const Point& pattern, const StrategySpace& space)
    : global_batch(pattern.global_batch), devices(space.devices), combinations{pattern.options} {
  if (devices.empty()) throw std::runtime_error("the space has no number of devices");
  refuse_twins("the devices", devices);
  read_axes(space);
  read_micro_batches(space);
  for (const OptionChoice& choice : space.options) read_option(choice);
  name_factors();
}

void StrategyLists::read_axes(const StrategySpace& space) {
  extents = space.extents;
  std::set<std::int64_t> all;
  for (std::int64_t count : devices) {
    for (std::int64_t divisor : divisors(count)) all.insert(divisor);
  }
  for (Axis axis : all_axes) {
    refuse_twins(name(axis), extents[at(axis)]);
    stated[at(axis)] = !extents[at(axis)].empty();
    if (axis != Axis::data && !stated[at(axis)]) extents[at(axis)].assign(all.begin(), all.end());
  }
}

void StrategyLists::read_micro_batches(const StrategySpace& space) {
  sizes = space.micro_batch_sizes;
  counts = space.micro_batches;
  stated_sizes = !sizes.empty();
  refuse_twins("the micro-batch sizes", sizes);
  refuse_twins("the micro-batches", counts);
  if (!free_batch() && global_batch < 1) {
    throw std::runtime_error(
        "the space has no batch: give its tokens, or both the sizes of a micro-batch and how many "
        "there are");
  }
  if (sizes.empty() && counts.empty()) sizes = divisors(global_batch);
}

void StrategyLists::read_option(const OptionChoice& choice) {
  const std::vector<std::string> flags = flags_of(step_fields().facts());
  if (std::ranges::find(flags, choice.flag) == flags.end()) {
    throw std::runtime_error("no option of the step has the flag '" + choice.flag + "'" +
                             did_you_mean(choice.flag, flags));
  }
  if (choice.flag == "--micro-batches") {
    throw std::invalid_argument("micro-batches are a list of their own");
  }
  if (choice.words.empty()) throw std::runtime_error(choice.flag + " has an empty list");
  refuse_twins(choice.flag, choice.words);
  std::vector<StepOptions> more;
  for (const StepOptions& so_far : combinations) {
    for (const std::string& word : choice.words) {
      more.push_back(step_fields().with(so_far, choice.flag, word));
    }
  }
  combinations = std::move(more);
  options.push_back({choice.flag.substr(2), choice.words});
}
void StrategyLists::name_factors() {
  factors.push_back({"devices", typed(devices)});
  for (Axis axis : named_axes) factors.push_back({name(axis), typed(extents[at(axis)])});
  if (!sizes.empty()) factors.push_back({"micro-batch-size", typed(sizes)});
  if (!counts.empty()) factors.push_back({"micro-batches", typed(counts)});
  factors.insert(factors.end(), options.begin(), options.end());
}

std::vector<MicroBatches> StrategyLists::micro_batches_on(const ProcessGrid& grid) const {
  std::vector<MicroBatches> found;
  if (free_batch()) {
    for (std::int64_t size : sizes) {
      for (std::int64_t count : counts) found.push_back({size, count});
    }
    return found;
  }
  const std::int64_t share = global_batch % replicas(grid) == 0 ? global_batch / replicas(grid) : 0;
  const auto other = [share](std::int64_t one) { return share % one == 0 ? share / one : 0; };
  for (std::int64_t count : counts) found.push_back({other(count), count});
  for (std::int64_t size : sizes) {
    if (stated_sizes || other(size) > 0) found.push_back({size, other(size)});
  }
  if (found.empty()) found.emplace_back();
  return found;
}

std::int64_t StrategyLists::batch(const ProcessGrid& grid, const MicroBatches& micro) const {
  return free_batch() ? micro.size * micro.count * replicas(grid) : global_batch;
}

ProcessGrid StrategyLists::grid(const Choices& choices) const {
  Coordinates of{};
  std::int64_t left = devices[choices.devices];
  for (Axis axis : chosen_axes) {
    of[at(axis)] = extents[at(axis)][choices.extents[at(axis)]];
    left /= of[at(axis)];
  }
  of[at(Axis::data)] = left;
  return ProcessGrid(of);
}

Strategy StrategyLists::strategy(const Choices& choices) const {
  Strategy result;
  result.grid = grid(choices);
  result.options = combinations[choices.options];
  MicroBatches micro;
  if (!counts.empty()) micro.count = counts[choices.micro_batches];
  if (!sizes.empty()) micro.size = sizes[choices.micro_batch_size];
  if (counts.empty()) micro.count = global_batch / replicas(result.grid) / micro.size;
  result.options.micro_batches = micro.count;
  result.global_batch = batch(result.grid, micro);
  return result;
}

std::vector<std::string> StrategyLists::words(const Choices& choices) const {
  const std::vector<std::uint16_t> chosen = places(choices);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    result.push_back(factors[i].words[chosen[i]]);
  }
  return result;
}

std::vector<std::uint16_t> StrategyLists::places(const Choices& choices) const {
  std::vector<std::uint16_t> result{choices.devices};
  for (Axis axis : named_axes) result.push_back(choices.extents[at(axis)]);
  if (!sizes.empty()) result.push_back(choices.micro_batch_size);
  if (!counts.empty()) result.push_back(choices.micro_batches);
  std::size_t weight = combinations.size();
  for (const Factor& option : options) {
    weight /= option.words.size();
    result.push_back(static_cast<std::uint16_t>(choices.options / weight % option.words.size()));
  }
  return result;
}

namespace {

// The strategies that fit the rules, and how many do not.
class Enumeration {
 public:
  Enumeration(const Model& model, const StrategyLists& lists) : model_(model), lists_(lists) {
    for (std::uint32_t i = 0; i < lists.combinations.size(); ++i) {
      Choices choices;
      choices.options = i;
      for (std::int64_t count : lists.devices) {
        choices.devices = place(lists.devices, count);
        extents(choices, 0, count);
      }
    }
    // A list of data says which grids are wanted; that it leaves none is said.
    if (found_.strategies == 0 && unwanted_ > 0)
      refuse(-1, unwanted_, [&] { return unwanted_why_; });
  }

  Enumerated result() && {
    for (auto& [rule, refusal] : refused_) found_.refused.push_back(std::move(refusal));
    return std::move(found_);
  }

 private:
  // Chooses the extents of the axes from number `axis` on, of what is left of the devices.
  void extents(Choices choices, std::size_t axis, std::int64_t left) {
    if (axis == chosen_axes.size()) return grid(choices, left);
    const std::size_t a = at(chosen_axes[axis]);
    for (std::size_t i = 0; i < lists_.extents[a].size(); ++i) {
      choices.extents[a] = static_cast<std::uint16_t>(i);
      const std::int64_t extent = lists_.extents[a][i];
      if (left % extent == 0) {
        extents(choices, axis + 1, left / extent);
      } else if (lists_.stated[a]) {
        std::int64_t beyond = micro_batches_stated();
        for (std::size_t later = axis + 1; later < chosen_axes.size(); ++later) {
          const std::size_t b = at(chosen_axes[later]);
          if (lists_.stated[b]) beyond *= static_cast<std::int64_t>(lists_.extents[b].size());
        }
        refuse(-1, beyond, [&] {
          return std::string(name(chosen_axes[axis])) + " = " + std::to_string(extent) +
                 " does not divide what the other axes leave of " +
                 std::to_string(lists_.devices[choices.devices]) + " devices, " +
                 std::to_string(left);
        });
      }
    }
  }

  void grid(Choices choices, std::int64_t data) {
    const Numbers& wanted = lists_.extents[at(Axis::data)];
    if (!wanted.empty() && std::ranges::find(wanted, data) == wanted.end()) {
      unwanted_ += micro_batches_stated();
      if (!unwanted_why_.empty()) return;
      unwanted_why_ = "the other axes leave data = " + std::to_string(data) + " of " +
                      std::to_string(lists_.devices[choices.devices]) + " devices, not " +
                      std::to_string(wanted.front());
      return;
    }
    const ProcessGrid grid = lists_.grid(choices);
    StepOptions options = lists_.combinations[choices.options];
    const Misfit of_model = find_misfit(model_, grid, options.chunks);
    if (of_model != Misfit::none) {
      refuse(static_cast<int>(of_model), micro_batches_stated(),
             [&] { return misfit(model_, grid, replicas(grid), options); });
      return;
    }
    for (const MicroBatches& micro : lists_.micro_batches_on(grid)) {
      options.micro_batches = micro.count;
      const Misfit why = micro.whole()
                             ? find_misfit(model_, grid, lists_.batch(grid, micro), options)
                             : Misfit::batch;
      if (why != Misfit::none) {
        refuse(static_cast<int>(why), 1, [&] { return reason(grid, options, micro); });
        continue;
      }
      if (static_cast<std::int64_t>(found_.fitting.size()) == most_strategies) too_large();
      choices.micro_batch_size = place(lists_.sizes, micro.size);
      choices.micro_batches = place(lists_.counts, micro.count);
      found_.fitting.push_back(choices);
      ++found_.strategies;
    }
  }

  std::string reason(const ProcessGrid& grid, const StepOptions& options,
                     const MicroBatches& micro) const {
    if (micro.whole()) {
      return misfit(model_, grid, lists_.batch(grid, micro), options);
    }
    std::string text = "grid " + grid.str() + ": a batch of " +
                       std::to_string(lists_.global_batch) + " sequences does not divide into " +
                       std::to_string(replicas(grid)) + " shares";
    if (micro.size > 0) text += " of micro-batches of " + std::to_string(micro.size) + " sequences";
    if (micro.count > 0) text += " of " + std::to_string(micro.count) + " micro-batches";
    return text;
  }

  template <typename Reason>
  void refuse(int rule, std::int64_t how_many, const Reason& reason) {
    const auto [slot, fresh] = refused_.try_emplace(rule);
    if (fresh) {
      slot->second.rule = rule < 0 ? "devices" : name(static_cast<Misfit>(rule));
      slot->second.example = reason();
    }
    slot->second.strategies += how_many;
    found_.strategies += how_many;
  }

  std::int64_t micro_batches_stated() const {
    const auto some = [](const Numbers& list) {
      return std::max<std::int64_t>(static_cast<std::int64_t>(list.size()), 1);
    };
    return (lists_.stated_sizes ? some(lists_.sizes) : 1) * some(lists_.counts);
  }

  [[noreturn]] void too_large() const;

  const Model& model_;
  const StrategyLists& lists_;
  std::map<int, Refusal> refused_;  // by misfit; before them the devices
  std::int64_t unwanted_ = 0;       // strategies of another data than is asked for
  std::string unwanted_why_;        // of the first of them
  Enumerated found_;
};

// A search of this many strategies a second is slow; what it takes is said before it is begun.
constexpr double strategies_a_second = 2000.0;

void Enumeration::too_large() const {
  // As the options are outermost, each of their combinations has about as many.
  const double part = (static_cast<double>(found_.fitting.back().options) + 1.0) /
                      static_cast<double>(lists_.combinations.size());
  const double all = static_cast<double>(found_.fitting.size()) / part;
  const Factor* longest = &lists_.factors.front();
  for (const Factor& factor : lists_.factors) {
    if (factor.words.size() > longest->words.size()) longest = &factor;
  }
  throw std::runtime_error(
      "the space has some " + std::to_string(static_cast<std::int64_t>(all / 1e6) + 1) +
      " million strategies that fit, more than the " + std::to_string(most_strategies) +
      " that are searched: at some 2000 a second they would take " +
      std::to_string(static_cast<std::int64_t>(all / strategies_a_second / 3600.0) + 1) +
      " hours; shorten a list, such as the " + std::to_string(longest->words.size()) + " of " +
      longest->name);
}

}  // namespace

Enumerated enumerate(const Model& model, const StrategyLists& lists) {
  return Enumeration(model, lists).result();
}

}  // namespace fourfold::inline sim::inline estimate
