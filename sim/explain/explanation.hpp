// Why a training step takes as long as it does: where the seconds of the critical path go, what
// each collective costs and achieves, and what ideal parts would give.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/fold/memory.hpp"
#include "schedule/fold/names.hpp"
#include "schedule/program/kernel_group.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/question/outcome.hpp"
#include "sim/question/point.hpp"
#include "sim/question/replay_detail.hpp"

namespace fourfold::inline sim::inline explain {

// A channel of one device; on several stages the mean over them. exposed + hidden = busy + waiting,
// where both are means over devices.
struct ChannelUse {
  std::int64_t members = 1;
  std::int64_t collectives = 0;
  Seconds busy;     // a collective of the channel in flight
  Seconds exposed;  // the device waits for one
  Seconds hidden;   // in flight while the device computes or waits for another channel
  Seconds waiting;  // of exposed: other devices come later
  Seconds latency;  // of busy: start, hops, what bandwidth does not hide; alone on the links
  Bytes sent;       // on the wire, flags of the low-latency protocol included
};

// All posts of one channel, kind and size.
struct CollectiveUse {
  std::vector<std::string> names;  // of the values they carry, each once
  CollectiveKind kind = CollectiveKind::all_reduce;
  ChannelNumber channel = 0;  // in Outcome::channels
  double count = 0.0;         // a device and step; on several stages their mean
  Bytes buffer;               // as nccl-tests counts it: gathered, or before scattering
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  WireProtocol protocol = WireProtocol::simple;
  Seconds each;                // by the closed form: only the groups of its own axis on the links
  double latency_share = 0.0;  // of `each`
  BytesPerSecond
      bus_bandwidth;  // nccl-tests: (n-1)/n of the buffer a second, all-reduce twice that
  std::optional<FlightTimes> flown;    // as simulated, with all else that is on the links
  BytesPerSecond flown_bus_bandwidth;  // by the simulated mean
  Seconds all() const { return each * count; }
};

struct Ideal {
  std::string key;   // for JSON: "network"
  std::string name;  // for people
  Seconds time;
  std::string by;  // what found it out: "closed form", "simulation", "bound"
};

// What a simulation found out about the point, and simulations of changed points beside it.
struct Simulated {
  Outcome outcome;
  std::optional<ReplayDetail> detail;
  std::vector<Ideal> reruns;
};

struct Explanation {
  Outcome outcome;  // what is explained
  std::array<Seconds, kernel_groups> kernels{};
  Seconds slowest;                   // compute beyond that of the median device, see slowest()
  Seconds interference;              // kernels slowed by collectives beside them
  Seconds slower_devices;            // compute beyond the nominal, mean over devices
  Seconds last_device;               // until the last device ends, beyond the mean device's end
  std::vector<ChannelUse> channels;  // as Outcome::channels
  std::vector<CollectiveUse> collectives;  // most seconds first
  MemoryUse memory;                        // at the peak
  Bytes memory_limit;
  FlopsPerSecond gemm_rate, empirical_peak, advertised_peak;  // per device
  std::vector<Ideal> ideals;
  std::optional<ReplayDetail> detail;
  // What-ifs that the simulation has and the closed form has not, in words.
  std::vector<std::string> not_in_closed_form;

  // What the critical path is made of, in seconds that sum to the total.
  std::vector<std::pair<std::string, Seconds>> parts() const;
  // For devices that come later, all channels.
  Seconds waiting() const;
  // One sentence: what limits this run.
  std::string verdict() const;
};

// The bus bandwidth that nccl-tests would print for one collective of `seconds`.
BytesPerSecond bus_bandwidth(CollectiveKind kind, Bytes buffer, std::int64_t members,
                             Seconds seconds);

// Explains the closed form's outcome, or the simulated one where there is one. Ideal parts that no
// rerun tells are taken from the closed form, by their ratio there, and say so. Throws
// std::runtime_error if the grid does not fit the model.
Explanation explain_step(const Point& point, const Platform& platform,
                         const std::optional<Simulated>& simulated);

}  // namespace fourfold::inline sim::inline explain
