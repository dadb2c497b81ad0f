// Ideal parts are changes of the platform or of the lowered program; see ideal.hpp.
#include "sim/explain/ideal.hpp"

#include <limits>

#include "platforms/vector_rates.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold::inline sim::inline explain {

namespace {

Platform with_gemm_at(Platform platform, FlopsPerSecond rate) {
  platform.processor.gemm = {{1, rate}};
  platform.processor.products = {};
  platform.processor.tiles.reset();
  platform.processor.layout_penalty_nt = 1.0;
  platform.processor.layout_penalty_tn = 1.0;
  return platform;
}

// Whether products run at rates that the peaks are peaks of.
bool peaks_are_theirs(const StepOptions& options, const Platform& platform) {
  return !options.narrows_products() &&
         (options.precision != Precision::fp32 || !fp32_products(platform));
}

}  // namespace

const char* name(IdealPart part) {
  constexpr const char* names[]{
      "none", "network", "gemm-empirical", "gemm-advertised", "equal-devices", "steady-kernels"};
  return names[static_cast<int>(part)];
}

std::string sentence(IdealPart part) {
  switch (part) {
    case IdealPart::none:
      break;
    case IdealPart::network:
      return "a network that takes no time (nor computing units)";
    case IdealPart::gemm_empirical:
      return "matrix products at the empirical peak";
    case IdealPart::gemm_advertised:
      return "matrix products at the advertised peak";
    case IdealPart::equal_devices:
      return "devices that are all alike: none waits for the slowest";
    case IdealPart::steady_kernels:
      return "kernels that take as long each time: no group waits for its last member";
  }
  return "the machine as it is";
}

bool takes_effect(IdealPart part, const Point& point, const Platform& platform) {
  if (part == IdealPart::gemm_empirical || part == IdealPart::gemm_advertised) {
    return peaks_are_theirs(point.options, platform);
  }
  if (part == IdealPart::equal_devices) return platform.processor.spread > 0.0;
  return part != IdealPart::steady_kernels || platform.processor.repetition_spread > 0.0;
}

TimedProgram lower(const Point& point, const Platform& platform, IdealPart ideal) {
  const Processor& processor = platform.processor;
  if (ideal == IdealPart::gemm_empirical) {
    return lower(point, with_gemm_at(platform, processor.empirical_peak));
  }
  if (ideal == IdealPart::gemm_advertised) {
    return lower(point, with_gemm_at(platform, processor.advertised_peak));
  }
  Platform changed = platform;
  if (ideal == IdealPart::equal_devices) changed.processor.spread = 0.0;
  if (ideal == IdealPart::steady_kernels) changed.processor.repetition_spread = 0.0;
  TimedProgram program = lower(point, changed);
  if (ideal != IdealPart::network) return program;
  for (TimedCollective& collective : program.collectives) {
    collective.cost = {{}, {}, {std::numeric_limits<double>::max()}};
    collective.uncontended = {};
    collective.lost = {};
  }
  return program;
}

}  // namespace fourfold::inline sim::inline explain
