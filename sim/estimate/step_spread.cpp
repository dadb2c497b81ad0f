// Sums over the timed program; see step_spread.hpp.
#include "sim/estimate/step_spread.hpp"

#include <cmath>

#include "platforms/operation.hpp"
#include "sim/cost/order_statistics.hpp"
#include "sim/cost/waiting.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold::inline sim::inline estimate {

StepSpread step_spread(const Point& point, const Platform& platform) {
  const TimedProgram program = lower(point, platform);
  const ExpectedWaiting waiting = expected_waiting(program);
  StepSpread result{waiting.for_slowest, waiting.for_last()};
  const double share = variance_of_largest(point.grid.size());
  const double sigma = std::sqrt(share) *
                       std::hypot(waiting.deviation.value, waiting.repetition.value) /
                       estimate_step(program).total.value;
  const MachineOperation operation = operation_of(platform);
  const auto over_median = [&](double probability, const std::optional<Fact>& tail) {
    const double beyond = tail ? tail->value - 1.0 : 0.0;
    return 1.0 + std::hypot(normal_quantile(probability) * sigma, beyond);
  };
  result.p90 = over_median(0.90, operation.step_p90);
  result.p99 = over_median(0.99, operation.step_p99);
  return result;
}

}  // namespace fourfold::inline sim::inline estimate
