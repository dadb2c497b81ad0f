// Groups of points merged subset by subset; see influence.hpp.
#include "sim/estimate/influence.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

namespace fourfold::inline sim::inline estimate {

namespace {

// Points that agree in all choices of a subset.
struct AlikePoints {
  std::uint64_t key = 0;  // their places, mixed radix
  double points = 0.0;
  double sum = 0.0;
};

// Var(E[f | S]) of every subset S, a bit each choice. Subsets are walked from the whole by leaving
// out one choice at a time, in ascending order, so that each comes once and merges the groups of
// one more choice.
class Subsets {
 public:
  explicit Subsets(const Observations& observations)
      : values(std::size_t{1} << observations.choices.size()),
        choices_(observations.choices.size()) {
    std::uint64_t weight = 1;
    for (std::int32_t of : observations.choices) {
      const auto size = static_cast<std::uint64_t>(std::max(of, 1));
      if (weight > std::numeric_limits<std::uint64_t>::max() / size) {
        throw std::invalid_argument("a space of choices beyond 64 bits");
      }
      weights_.push_back(weight);
      sizes_.push_back(size);
      weight *= size;
    }
    std::vector<AlikePoints> points(observations.values.size());
    for (std::size_t n = 0; n < points.size(); ++n) {
      for (std::size_t i = 0; i < choices_; ++i) {
        points[n].key += weights_[i] * observations.places[n * choices_ + i];
      }
      points[n].points = 1.0;
      points[n].sum = observations.values[n];
      mean_ += points[n].sum;
    }
    all_ = static_cast<double>(points.size());
    mean_ /= all_;
    walk(merged(std::move(points)), values.size() - 1, 0);
  }

  std::vector<double> values;  // by subset

 private:
  void walk(const std::vector<AlikePoints>& groups, std::size_t subset, std::size_t first) {
    double variance = 0.0;
    for (const AlikePoints& group : groups) {
      const double off = group.sum / group.points - mean_;
      variance += group.points * off * off;
    }
    values[subset] = variance / all_;
    for (std::size_t i = first; i < choices_; ++i) {
      walk(without(groups, i), subset & ~(std::size_t{1} << i), i + 1);
    }
  }

  std::vector<AlikePoints> without(std::vector<AlikePoints> groups, std::size_t choice) const {
    for (AlikePoints& group : groups) {
      group.key -= group.key / weights_[choice] % sizes_[choice] * weights_[choice];
    }
    return merged(std::move(groups));
  }

  static std::vector<AlikePoints> merged(std::vector<AlikePoints> groups) {
    std::sort(groups.begin(), groups.end(),
              [](const AlikePoints& a, const AlikePoints& b) { return a.key < b.key; });
    std::size_t last = 0;
    for (std::size_t n = 1; n < groups.size(); ++n) {
      if (groups[n].key != groups[last].key) {
        groups[++last] = groups[n];
        continue;
      }
      groups[last].points += groups[n].points;
      groups[last].sum += groups[n].sum;
    }
    groups.resize(std::min(groups.size(), last + 1));
    return groups;
  }

  std::size_t choices_;
  std::vector<std::uint64_t> weights_, sizes_;  // by choice
  double all_ = 0.0, mean_ = 0.0;
};

// By the size of a subset that lacks a choice: the part of all orders in which it is known exactly
// when the choice comes, |S|! (k - |S| - 1)! / k!.
std::vector<double> parts_of_orders(std::size_t choices) {
  std::vector<double> parts(choices);
  for (std::size_t size = 0; size < choices; ++size) {
    double ways = static_cast<double>(choices);  // k (k-1 choose |S|)
    for (std::size_t i = 0; i < size; ++i) {
      ways = ways * static_cast<double>(choices - 1 - i) / static_cast<double>(i + 1);
    }
    parts[size] = 1.0 / ways;
  }
  return parts;
}

std::vector<std::vector<double>> means_by_place(const Observations& observations) {
  const std::size_t choices = observations.choices.size();
  std::vector<std::vector<double>> means(choices);
  for (std::size_t i = 0; i < choices; ++i) {
    const auto size = static_cast<std::size_t>(observations.choices[i]);
    std::vector<double> points(size);
    means[i].resize(size);
    for (std::size_t n = 0; n < observations.values.size(); ++n) {
      const std::size_t place = observations.places[n * choices + i];
      points[place] += 1.0;
      means[i][place] += observations.values[n];
    }
    for (std::size_t place = 0; place < size; ++place) means[i][place] /= points[place];
  }
  return means;
}

}  // namespace

Influence influence(const Observations& observations) {
  const std::size_t choices = observations.choices.size();
  if (choices > most_choices) {
    throw std::invalid_argument("more choices than subsets can be looked at");
  }
  Influence result;
  result.shapley.resize(choices);
  result.alone.resize(choices);
  result.means = means_by_place(observations);
  if (observations.values.empty()) return result;
  for (double value : observations.values) result.mean += value;
  result.mean /= static_cast<double>(observations.values.size());

  const Subsets subsets(observations);
  result.variance = subsets.values.back();
  // Rounding of equal values is no variance.
  if (result.variance <= 1e-24 * result.mean * result.mean) {
    result.variance = 0.0;
    return result;
  }
  const std::vector<double> parts = parts_of_orders(choices);
  for (std::size_t i = 0; i < choices; ++i) {
    const std::size_t bit = std::size_t{1} << i;
    for (std::size_t subset = 0; subset < subsets.values.size(); ++subset) {
      if ((subset & bit) != 0) continue;
      const auto size = static_cast<std::size_t>(std::popcount(subset));
      result.shapley[i] += parts[size] * (subsets.values[subset | bit] - subsets.values[subset]);
    }
    result.shapley[i] /= result.variance;
    result.alone[i] = subsets.values[bit] / result.variance;
  }
  return result;
}

}  // namespace fourfold::inline sim::inline estimate
