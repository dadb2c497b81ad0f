// Ideal parts are changes of the platform or of the lowered program; see ideal.hpp.
#include "sim/explain/ideal.hpp"

#include <limits>

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

}  // namespace

const char* name(IdealPart part) {
  constexpr const char* names[]{"none", "network", "gemm-empirical", "gemm-advertised"};
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
  }
  return "the machine as it is";
}

TimedProgram lower(const Point& point, const Platform& platform, IdealPart ideal) {
  const Processor& processor = platform.processor;
  if (ideal == IdealPart::gemm_empirical) {
    return lower(point, with_gemm_at(platform, processor.empirical_peak));
  }
  if (ideal == IdealPart::gemm_advertised) {
    return lower(point, with_gemm_at(platform, processor.advertised_peak));
  }
  TimedProgram program = lower(point, platform);
  if (ideal == IdealPart::none) return program;
  for (TimedCollective& collective : program.collectives) {
    collective.cost = {{}, {}, {std::numeric_limits<double>::max()}};
    collective.uncontended = {};
    collective.lost = {};
  }
  return program;
}

}  // namespace fourfold::inline sim::inline explain
