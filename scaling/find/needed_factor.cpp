// Bisection of the estimate, corrected by simulations; see needed_factor.hpp.
#include "scaling/find/needed_factor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>

#include "scaling/bars/varied.hpp"
#include "scaling/words/amounts.hpp"

namespace fourfold::inline scaling::inline find {
namespace {

constexpr double least = 1e-3;
constexpr double most = 1e3;

double four_digits(double factor) {
  const double unit = std::pow(10.0, std::floor(std::log10(factor)) - 3.0);
  return std::round(factor / unit) * unit;
}

// The factor at which a step that falls or rises with it takes so long; absent if none does.
std::optional<double> solved(const std::function<std::optional<Seconds>(double)>& step,
                             Seconds wanted) {
  double slow = least, fast = most;
  const auto at_least = step(slow), at_most = step(fast);
  if (!at_least || !at_most) return std::nullopt;
  if (*at_least < *at_most) std::swap(slow, fast);  // of a time or a loss
  if (wanted < std::min(*at_least, *at_most) || wanted > std::max(*at_least, *at_most)) {
    return std::nullopt;
  }
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(slow * fast);
    const auto seconds = step(middle);
    if (!seconds) return std::nullopt;
    (*seconds > wanted ? slow : fast) = middle;
  }
  return fast;
}

}  // namespace

Needed needed_factor(const Question& question, const std::string& key, Seconds step,
                     Fidelity fidelity, const StoppingRule& rule, const ProgressWatch& watch) {
  const Finding found = find_answer(question, fidelity, rule, watch);
  Needed needed{
      key,          1.0, found.outcome().total, found.best().grid, found.best().micro_batches,
      found.options};
  Question one = question;
  one.options = needed.options;
  one.variants.clear();
  one.grid = needed.grid;
  one.micro_batches = needed.micro_batches;
  const Point point = point_of(one, needed.grid, needed.micro_batches);
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  const Varied varied(point, platform);
  const auto estimated = [&](double factor) { return varied.estimated_with(key, factor); };
  Seconds answered = needed.without;  // at this factor
  constexpr int most_simulations = 5;
  constexpr double near = 2e-3;
  for (int i = 0; i < most_simulations; ++i) {
    const auto here = estimated(needed.factor);
    const auto factor = here ? solved(estimated, step * (*here / answered)) : std::nullopt;
    if (!factor) {
      const auto fastest = estimated(most), slowest = estimated(least);
      std::string what = "is refused as scaled";
      if (here && fastest && slowest) {
        what = fmt::format("gives {} to {} s",
                           seconds_text(std::min(*fastest, *slowest) * (answered / *here)),
                           seconds_text(std::max(*fastest, *slowest) * (answered / *here)));
      }
      throw NoFactor(
          fmt::format("no factor on {} gives a step of {:g} s: from a thousandth to a thousand it "
                      "{}; as it is the step takes {} s",
                      key, step.value, what, seconds_text(needed.without)));
    }
    needed.factor = four_digits(*factor);
    if (!simulates(fidelity)) break;
    one.scales = question.scales;
    one.scales[key] =
        needed.factor * (question.scales.contains(key) ? question.scales.at(key) : 1.0);
    answered = find_answer(one, fidelity, rule, watch).outcome().total;
    if (std::abs(answered / step - 1.0) < near) break;
  }
  return needed;
}

}  // namespace fourfold::inline scaling::inline find
