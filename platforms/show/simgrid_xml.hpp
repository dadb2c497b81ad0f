// A part of a machine as a SimGrid platform file, for SimGrid programs that are not ours.
#pragma once

#include <cstdint>
#include <string>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline show {

inline constexpr std::int64_t most_simgrid_xml_devices = 256;

// Version 4.1: the first `devices` devices as hosts device-0, device-1, ...; the links that some
// route crosses, one per direction; and an explicit route for every ordered pair. Routes are the
// minimal ones. SimGrid shares a link in inverse proportion to the latency of the routes over it,
// so all routes have the same, of 1 ns: the latency of a collective is the library's, which is no
// property of a link.
//
// Throws std::invalid_argument with a sentence on devices beyond the machine or beyond what
// explicit routes are good for, and on a crossbar with a port per lane, which routes between hosts
// cannot tell apart.
std::string simgrid_xml(const Platform& platform, std::int64_t devices);

}  // namespace fourfold::inline platforms::inline show
