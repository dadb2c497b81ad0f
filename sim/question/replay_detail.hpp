// What a replay can say beyond its outcome, if it is asked: the load of the links, the collectives
// as they really flew, who waits for whom, and logs of a few devices.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "schedule/program/channel.hpp"
#include "sim/explain/device_log.hpp"
#include "sim/explain/timeline.hpp"
#include "support/json_object.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline sim::inline question {

// explanation: sums; timeline: besides, logs of the sampled devices.
enum class DetailWanted : std::uint8_t { none, explanation, timeline };

// Links of one class, such as all NICs, that carry anything in the step. Bytes are what is on the
// wire, flags of the low-latency protocol included; utilisation is bytes / (capacity x step).
struct LinkUse {
  std::string link_class;
  BytesPerSecond capacity;  // of one, per direction, when nothing is degraded
  std::int64_t links = 0;
  Bytes bytes;  // over all of them
  double mean_utilisation = 0.0;
  std::string busiest;
  Bytes busiest_bytes;
  double busiest_utilisation = 0.0;
};

// All groups' collectives of one class of the timed program.
struct FlightTimes {
  Seconds mean, longest;
};

// Means over the devices of a class, see device_classes.hpp.
struct ClassUse {
  std::string name;
  std::int64_t devices = 0;
  Seconds compute;
  std::vector<Seconds> exposed;  // by channel
  // Of exposed: while none of its group's collectives is in flight, as some member comes later.
  std::vector<Seconds> late;
};

// A rank that others wait for, as the last of a group to post.
struct Latecomer {
  std::int64_t rank = 0;
  Seconds waited;  // by all others together, over the number of devices
};

struct DeviceTimeline {
  std::int64_t rank = 0;
  std::string name;  // of its class
  DeviceLog log;
};

struct ReplayDetail {
  std::vector<LinkUse> links;        // the most used class first
  std::vector<FlightTimes> flights;  // by TimedProgram::collectives
  std::vector<ClassUse> classes;
  std::vector<Latecomer> latecomers;  // the most waited for first, a few
  Seconds longest_compute;            // of any device
  LoggedRepetitions logged;           // of the timelines
  std::vector<DeviceTimeline> timelines;
};

// `channels`: of the program that was replayed.
nlohmann::json json_of(const ReplayDetail& detail, const std::vector<Channel>& channels);
// The same without what only a trace is made of.
nlohmann::json json_of_sums(const ReplayDetail& detail, const std::vector<Channel>& channels);
// Throws std::runtime_error with a sentence on anything missing or unknown.
ReplayDetail read_detail(JsonObject object, const std::vector<Channel>& channels);

}  // namespace fourfold::inline sim::inline question
