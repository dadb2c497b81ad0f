// Weighted quantiles of what was measured; see error_bar.hpp.
#include "scaling/bars/error_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

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

struct Nearest {
  std::vector<Residual> residuals;
  std::string like;
};

Nearest nearest(const Likeness& like, const std::vector<Residual>& residuals) {
  const std::string on = "on " + like.processor, kind = name(like.parallelism);
  for (const auto& [processor, parallelism, words] :
       {std::tuple(true, true, on + " and " + kind), std::tuple(true, false, on),
        std::tuple(false, true, kind), std::tuple(false, false, std::string("of any kind"))}) {
    Nearest found{{}, words};
    for (const Residual& one : residuals) {
      const bool alike = (!processor || one.like.processor == like.processor) &&
                         (!parallelism || one.like.parallelism == like.parallelism);
      if (alike) found.residuals.push_back(one);
    }
    const auto sources = static_cast<std::int64_t>(rows_by_source(found.residuals).size());
    if (sources >= least_sources) return found;
  }
  return {};
}

double log_of(const std::optional<Seconds>& seconds, Seconds base) {
  return seconds ? std::log(*seconds / base) : 0.0;
}

}  // namespace

std::optional<ErrorBar> error_bar(const Likeness& like, const std::vector<Residual>& residuals) {
  const Nearest near = nearest(like, residuals);
  if (near.residuals.empty()) return std::nullopt;
  const std::map<std::string, std::int64_t> rows = rows_by_source(near.residuals);
  std::vector<Weighed> logs;
  for (const Residual& one : near.residuals) {
    logs.push_back({std::log(one.ratio), 1.0 / static_cast<double>(rows.at(one.source))});
  }
  const double middle = median(logs);
  std::vector<Weighed> distances;
  for (const Weighed& one : logs) distances.push_back({std::abs(one.value - middle), one.weight});
  const auto sources = static_cast<double>(rows.size());
  const double reach = reached(distances, error_bar_level * (sources + 1.0) / sources);
  ErrorBar bar;
  bar.low = std::expm1(middle - reach);
  bar.high = std::expm1(middle + reach);
  bar.like = near.like;
  bar.runs = static_cast<std::int64_t>(near.residuals.size());
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
  const std::int64_t few = 4 * stages;
  std::int64_t& micro_batches = point.options.micro_batches;
  if (stages == 1 || micro_batches <= few) return point;
  point.global_batch = point.global_batch / micro_batches * few;
  micro_batches = few;
  return point;
}

}  // namespace

std::optional<ErrorBar> error_bar(const Point& point) {
  const Platform platform = read_platform(point.platform, point.scales);
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
  std::string text = fmt::format(
      "{:.0f} % bar {:#.3g} to {:#.3g} s ({}): {} like this one ({}; {}; no constant was chosen "
      "with "
      "them) lay between {:+.0f} and {:+.0f} % of the model",
      100.0 * error_bar_level, projected.value * (1.0 + bar.low),
      projected.value * (1.0 + bar.high), percent_text(bar), counted(bar.runs, "run"), bar.like,
      counted(bar.sources, "source"), 100.0 * bar.runs_least, 100.0 * bar.runs_most);
  if (!bar.widened_by.empty()) {
    text +=
        fmt::format("; widened by {}, most by {}",
                    counted(static_cast<std::int64_t>(bar.widened_by.size()), "unconfirmed number"),
                    bar.widened_by.front());
  }
  return wrapped(text + '.') + '\n';
}

}  // namespace fourfold::inline scaling::inline bars
