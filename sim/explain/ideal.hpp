// A step with one part of the machine made ideal: what that would save, asked of any timed rung.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/timed_program.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline explain {

// network: collectives take no time and no computing units, but still wait for their members.
// gemm_...: every matrix product runs at that peak, in any layout. equal_devices, steady_kernels:
// without the spread between devices, or between repetitions.
enum class IdealPart : std::uint8_t {
  none,
  network,
  gemm_empirical,
  gemm_advertised,
  equal_devices,
  steady_kernels
};
inline constexpr std::array<IdealPart, 5> all_ideal_parts{
    IdealPart::network, IdealPart::gemm_empirical, IdealPart::gemm_advertised,
    IdealPart::equal_devices, IdealPart::steady_kernels};
const char* name(IdealPart part);  // "network", "gemm-empirical", ...
std::string sentence(IdealPart part);
// Whether there is something for it to change; a peak of 16 bits is none of products in fp32 or in
// 8 bits.
bool takes_effect(IdealPart part, const Point& point, const Platform& platform);

// As lower() of sim/estimate/estimate.hpp, with the ideal part.
TimedProgram lower(const Point& point, const Platform& platform, IdealPart ideal);

}  // namespace fourfold::inline sim::inline explain
