// Weighted quantiles of what was measured; see error_bar.hpp.
#include "scaling/bars/error_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "support/prose.hpp"

namespace fourfold::inline scaling::inline bars {
namespace {

// A value with its weight.
struct Weighed {
  double value = 0.0, weight = 0.0;
};

void sort_and_norm(std::vector<Weighed>& values) {
  std::sort(values.begin(), values.end(),
            [](const Weighed& a, const Weighed& b) { return a.value < b.value; });
  double sum = 0.0;
  for (const Weighed& one : values) sum += one.weight;
  for (Weighed& one : values) one.weight /= sum;
}

// Half of the weight lies on either side; between two values the straight line.
double median(std::vector<Weighed> values) {
  sort_and_norm(values);
  double before = 0.0, place = 0.0, value = values.front().value;
  for (const Weighed& one : values) {
    const double next = before + one.weight / 2.0;
    if (next >= 0.5) {
      const double part = next > place ? (0.5 - place) / (next - place) : 1.0;
      return value + std::max(part, 0.0) * (one.value - value);
    }
    place = next;
    value = one.value;
    before += one.weight;
  }
  return values.back().value;
}

// The least value that has `share` of the weight at or below it; the largest beyond all.
double reached(std::vector<Weighed> values, double share) {
  constexpr double rounding = 1e-9;
  sort_and_norm(values);
  double sum = 0.0;
  for (const Weighed& one : values) {
    sum += one.weight;
    if (sum >= share - rounding) return one.value;
  }
  return values.back().value;
}

std::map<std::string, std::int64_t> rows_by_source(const std::vector<Residual>& residuals) {
  std::map<std::string, std::int64_t> rows;
  for (const Residual& one : residuals) ++rows[one.source];
  return rows;
}

// What is left of a run's weight for each thing in which it differs from what is asked about: of
// the processor or the parallelism a half, of the machine or the system a third, of the devices a
// tenth less for each factor of two. Rounded choices; what they are worth, leave_out.hpp tells.
double nearness(const Likeness& like, const Likeness& other) {
  constexpr double half = 1.0 / 2.0, third = 1.0 / 3.0, of_a_doubling = 0.1;
  double left = 1.0;
  if (other.processor != like.processor) left *= half;
  if (other.parallelism != like.parallelism) left *= half;
  if (other.machine != like.machine) left *= third;
  if (other.system != like.system) left *= third;
  const double doublings =
      std::log2(static_cast<double>(other.devices) / static_cast<double>(like.devices));
  return left * std::exp(-of_a_doubling * std::abs(doublings));
}

constexpr const char* nothing_like_it = "no run on ";

// What the nearest runs share with it, from much to nothing.
std::string shared_with(const Likeness& like, const std::vector<Residual>& residuals) {
  const auto any = [&](const auto& same) {
    return std::any_of(residuals.begin(), residuals.end(),
                       [&](const Residual& one) { return same(one.like); });
  };
  const auto processor = [&](const Likeness& o) { return o.processor == like.processor; };
  const auto machine = [&](const Likeness& o) { return o.machine == like.machine; };
  const auto system = [&](const Likeness& o) { return o.system == like.system; };
  const auto kind = [&](const Likeness& o) { return o.parallelism == like.parallelism; };
  const std::string how = std::string(", ") + name(like.parallelism);
  const auto both = [](const auto& a, const auto& b) {
    return [=](const Likeness& o) { return a(o) && b(o); };
  };
  if (any(both(both(machine, system), kind))) return like.machine + " with " + like.system + how;
  if (any(both(machine, system))) return like.machine + " with " + like.system;
  if (any(both(machine, kind))) return like.machine + how;
  if (any(machine)) return like.machine;
  if (any(both(processor, kind))) return like.processor + how;
  if (any(processor)) return like.processor;
  return nothing_like_it + like.processor;
}

double log_of(const std::optional<Seconds>& seconds, Seconds base) {
  return seconds ? std::log(*seconds / base) : 0.0;
}

}  // namespace

std::optional<ErrorBar> error_bar(const Likeness& like, const std::vector<Residual>& residuals) {
  const std::map<std::string, std::int64_t> rows = rows_by_source(residuals);
  if (static_cast<std::int64_t>(rows.size()) < least_sources) return std::nullopt;
  std::vector<Weighed> logs;
  std::map<std::string, double> weights;  // of the sources
  for (const Residual& one : residuals) {
    const double weight = nearness(like, one.like) / static_cast<double>(rows.at(one.source));
    logs.push_back({std::log(one.ratio), weight});
    weights[one.source] += weight;
  }
  double sum = 0.0, squares = 0.0;
  for (const auto& [source, weight] : weights) {
    sum += weight;
    squares += weight * weight;
  }
  const double sources = sum * sum / squares;  // as many of equal weight
  // As if two more sources had been met exactly.
  constexpr double exact_ones = 2.0;
  const double middle = median(logs) * sources / (sources + exact_ones);
  std::vector<Weighed> distances;
  for (const Weighed& one : logs) distances.push_back({std::abs(one.value - middle), one.weight});
  constexpr double least_reach = 0.05;
  double reach = std::max(
      least_reach, reached(distances, std::min(1.0, error_bar_level * (1.0 + 0.5 / sources))));
  // Of a processor that nobody ran on: the least quarter with which of each machine that is left
  // out (leave_out.hpp) two runs of five are held.
  constexpr double on_no_such_processor = 2.25;
  if (std::none_of(residuals.begin(), residuals.end(),
                   [&](const Residual& one) { return one.like.processor == like.processor; })) {
    reach *= on_no_such_processor;
  }
  ErrorBar bar;
  bar.low = std::expm1(middle - reach);
  bar.high = std::expm1(middle + reach);
  bar.like = shared_with(like, residuals);
  bar.runs = static_cast<std::int64_t>(residuals.size());
  bar.sources = static_cast<std::int64_t>(rows.size());
  const auto [least, most] =
      std::minmax_element(logs.begin(), logs.end(),
                          [](const Weighed& a, const Weighed& b) { return a.value < b.value; });
  bar.runs_least = std::expm1(least->value);
  bar.runs_most = std::expm1(most->value);
  return bar;
}

void widen(ErrorBar& bar, const Sensitivity& sensitivity) {
  // Of a value that is even on [-e, e], the variance is e^2 / 3; 80 % of a normal distribution lie
  // within 1.2816 of its deviations.
  constexpr double part = 1.2816 * 1.2816 / 3.0;
  const double middle = (std::log1p(bar.low) + std::log1p(bar.high)) / 2.0;
  const double reach = (std::log1p(bar.high) - std::log1p(bar.low)) / 2.0;
  double down = reach * reach, up = reach * reach;
  for (const Effect& effect : sensitivity.effects) {
    const double half = log_of(effect.half, sensitivity.estimated);
    const double twice = log_of(effect.twice, sensitivity.estimated);
    const double least = std::min({half, twice, 0.0}), most = std::max({half, twice, 0.0});
    down += part * least * least;
    up += part * most * most;
    bar.widened_by.push_back(effect.key);
  }
  bar.low = std::expm1(middle - std::sqrt(down));
  bar.high = std::expm1(middle + std::sqrt(up));
}

ComparisonBar comparison_bar(const std::vector<Residual>& residuals) {
  struct Mean {
    double sum = 0.0, count = 0.0;
  };
  // By source and choice, then by configuration: means of what was measured repeatedly.
  std::map<std::pair<std::string, std::string>, std::map<std::string, Mean>> choices;
  for (const Residual& one : residuals) {
    Mean& mean = choices[{one.source, one.choice}][one.configuration];
    mean.sum += std::log(one.ratio);
    mean.count += 1.0;
  }
  std::map<std::string, std::vector<double>> changes;  // by source
  for (const auto& [choice, configurations] : choices) {
    for (auto a = configurations.begin(); a != configurations.end(); ++a) {
      for (auto b = std::next(a); b != configurations.end(); ++b) {
        changes[choice.first].push_back(
            std::abs(a->second.sum / a->second.count - b->second.sum / b->second.count));
      }
    }
  }
  ComparisonBar bar;
  std::vector<Weighed> all;
  for (const auto& [source, values] : changes) {
    for (double value : values) all.push_back({value, 1.0 / static_cast<double>(values.size())});
    bar.pairs += static_cast<std::int64_t>(values.size());
  }
  if (!all.empty()) bar.tie = std::expm1(reached(all, error_bar_level));
  return bar;
}

namespace {

// A pipeline of few of its micro-batches, as large: a number changes nearly the same part of that,
// and walking thousands of them for each number takes long.
Point with_few_micro_batches(Point point) {
  const std::int64_t stages = point.grid.extent(Axis::pipe);
  const std::int64_t few = 8 * stages;
  std::int64_t& micro_batches = point.options.micro_batches;
  if (stages == 1 || micro_batches <= few) return point;
  point.global_batch = point.global_batch / micro_batches * few;
  micro_batches = few;
  return point;
}

}  // namespace

std::optional<ErrorBar> error_bar(const Point& point) {
  if (!point.options.trains()) return std::nullopt;  // nothing but training was measured
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  std::optional<ErrorBar> bar =
      error_bar(likeness(point.grid, point.options, platform), kept_residuals());
  if (!bar) return bar;
  widen(*bar, sensitivity(with_few_micro_batches(point)));
  const ComparisonBar of_pairs = comparison_bar(kept_residuals());
  bar->tie = of_pairs.tie;
  bar->pairs = of_pairs.pairs;
  return bar;
}

std::string percent_text(const ErrorBar& bar) {
  return fmt::format("{:+.0f} to {:+.0f} %", 100.0 * bar.low, 100.0 * bar.high);
}

std::string tie_text(const ErrorBar& bar) {
  if (bar.pairs == 0) return "";
  return wrapped(fmt::format(
             "tie: less than {:.1f} % behind the best; {:.0f} % of {} of configurations that were "
             "measured side by side were off by less than that.",
             100.0 * bar.tie, 100.0 * error_bar_level, counted(bar.pairs, "pair"))) +
         '\n';
}

std::string error_bar_text(const ErrorBar& bar, Seconds projected) {
  const bool unlike = bar.like.starts_with(nothing_like_it);
  std::string text = unlike ? fmt::format("Nothing like it was ever measured: {}. ", bar.like) : "";
  text += fmt::format(
      "{:.0f} % bar {:#.3g} to {:#.3g} s ({}): {} of {}{} lay between {:+.0f} and {:+.0f} % of "
      "the model; no constant was chosen with them",
      100.0 * error_bar_level, projected.value * (1.0 + bar.low),
      projected.value * (1.0 + bar.high), percent_text(bar), counted(bar.runs, "run"),
      counted(bar.sources, "source"),
      unlike ? "" : ", the nearest on " + bar.like + " counting most,", 100.0 * bar.runs_least,
      100.0 * bar.runs_most);
  if (!bar.widened_by.empty()) {
    text +=
        fmt::format("; widened by {}, most by {}",
                    counted(static_cast<std::int64_t>(bar.widened_by.size()), "unconfirmed number"),
                    bar.widened_by.front());
  }
  return wrapped(text + '.') + '\n';
}

}  // namespace fourfold::inline scaling::inline bars
