// Details to JSON and back; see replay_detail.hpp. Keys end in their unit.
#include "sim/question/replay_detail.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "sim/question/channel_json.hpp"
#include "support/plain_sentence.hpp"

namespace fourfold::inline sim::inline question {
namespace {

using nlohmann::json;

json json_of(const LinkUse& use) {
  return {{"class", use.link_class},
          {"capacity_B_per_s", use.capacity.value},
          {"links", use.links},
          {"all_B", use.bytes.value},
          {"mean_utilisation", use.mean_utilisation},
          {"busiest", use.busiest},
          {"busiest_B", use.busiest_bytes.value},
          {"busiest_utilisation", use.busiest_utilisation}};
}

LinkUse read_link(JsonObject object) {
  LinkUse use;
  use.link_class = object.text("class");
  use.capacity = {object.number("capacity_B_per_s")};
  use.links = object.positive("links");
  use.bytes = {object.number("all_B")};
  use.mean_utilisation = object.number("mean_utilisation");
  use.busiest = object.text("busiest");
  use.busiest_bytes = {object.number("busiest_B")};
  use.busiest_utilisation = object.number("busiest_utilisation");
  object.finish();
  return use;
}

ClassUse read_class(JsonObject object, const std::vector<Channel>& channels) {
  ClassUse use;
  use.name = object.text("class");
  use.devices = object.positive("devices");
  use.compute = {object.number("compute_s")};
  use.exposed = read_by_channel<Seconds>(object.object("exposed_s"), channels);
  use.late = read_by_channel<Seconds>(object.object("waiting_for_later_devices_s"), channels);
  object.finish();
  return use;
}

json json_of(const DeviceTimeline& timeline) {
  json flights = json::array();
  for (const auto& channel : timeline.log.flights) {
    json pairs = json::array();
    for (const DeviceLog::Flight& flight : channel) pairs.push_back({flight.start, flight.finish});
    flights.push_back(std::move(pairs));
  }
  std::string turns;
  for (const StepPart part : timeline.log.turns) turns += part == StepPart::forward ? 'F' : 'B';
  return {{"rank", timeline.rank},           {"class", timeline.name},
          {"arrive_s", timeline.log.arrive}, {"leave_s", timeline.log.leave},
          {"marks_s", timeline.log.marks},   {"flights_s", flights},
          {"end_s", timeline.log.end},       {"turns", turns}};
}

DeviceTimeline read_timeline(JsonObject object) {
  DeviceTimeline timeline;
  timeline.rank = object.integer("rank");
  timeline.name = object.text("class");
  timeline.log.arrive = object.get("arrive_s").get<std::vector<double>>();
  timeline.log.leave = object.get("leave_s").get<std::vector<double>>();
  timeline.log.marks = object.get("marks_s").get<std::vector<double>>();
  for (const json& pairs : object.get("flights_s")) {
    std::vector<DeviceLog::Flight>& flights = timeline.log.flights.emplace_back();
    for (const json& pair : pairs) {
      flights.push_back({pair.at(0).get<double>(), pair.at(1).get<double>()});
    }
  }
  timeline.log.end = object.number("end_s");
  for (const char part : object.text("turns")) {
    timeline.log.turns.push_back(part == 'F' ? StepPart::forward : StepPart::backward);
  }
  object.finish();
  return timeline;
}

template <typename Item, typename Read>
std::vector<Item> read_list(JsonObject& object, const std::string& key, Read read) {
  std::vector<Item> items;
  for (const json& entry : object.get(key))
    items.push_back(read(JsonObject(entry, "'" + key + "'")));
  return items;
}

}  // namespace

json json_of_sums(const ReplayDetail& detail, const std::vector<Channel>& channels) {
  json links = json::array();
  for (const LinkUse& use : detail.links) links.push_back(json_of(use));
  json flights = json::array();
  for (const FlightTimes& times : detail.flights) {
    flights.push_back({{"mean_s", times.mean.value}, {"longest_s", times.longest.value}});
  }
  json classes = json::array();
  for (const ClassUse& use : detail.classes) {
    classes.push_back({{"class", use.name},
                       {"devices", use.devices},
                       {"compute_s", use.compute.value},
                       {"exposed_s", json_by_channel(channels, use.exposed)},
                       {"waiting_for_later_devices_s", json_by_channel(channels, use.late)}});
  }
  json latecomers = json::array();
  for (const Latecomer& one : detail.latecomers) {
    latecomers.push_back({{"rank", one.rank}, {"waited_for_s_per_device", one.waited.value}});
  }
  return {{"links", links},
          {"flights", flights},
          {"device_classes", classes},
          {"latecomers", latecomers},
          {"longest_compute_s", detail.longest_compute.value}};
}

json json_of(const ReplayDetail& detail, const std::vector<Channel>& channels) {
  json object = json_of_sums(detail, channels);
  object["logged"] = {{"runs", detail.logged.runs}, {"cycles", detail.logged.cycles}};
  object["timelines"] = json::array();
  for (const DeviceTimeline& timeline : detail.timelines) {
    object["timelines"].push_back(json_of(timeline));
  }
  return object;
}

ReplayDetail read_detail(JsonObject object, const std::vector<Channel>& channels) {
  ReplayDetail detail;
  try {
    detail.links = read_list<LinkUse>(object, "links", read_link);
    detail.flights = read_list<FlightTimes>(object, "flights", [](JsonObject one) {
      const FlightTimes times{{one.number("mean_s")}, {one.number("longest_s")}};
      one.finish();
      return times;
    });
    detail.classes = read_list<ClassUse>(object, "device_classes", [&](JsonObject one) {
      return read_class(std::move(one), channels);
    });
    detail.latecomers = read_list<Latecomer>(object, "latecomers", [](JsonObject one) {
      const Latecomer latecomer{one.integer("rank"), {one.number("waited_for_s_per_device")}};
      one.finish();
      return latecomer;
    });
    detail.longest_compute = {object.number("longest_compute_s")};
    JsonObject logged = object.object("logged");
    detail.logged.runs = logged.get("runs").get<std::vector<std::int64_t>>();
    detail.logged.cycles = logged.get("cycles").get<std::vector<std::int64_t>>();
    detail.timelines = read_list<DeviceTimeline>(object, "timelines", read_timeline);
  } catch (const json::exception& error) {
    throw std::runtime_error("the detail of a replay's answer: " + plain_sentence(error));
  }
  object.finish();
  return detail;
}

}  // namespace fourfold::inline sim::inline question
